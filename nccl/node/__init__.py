"""What runs on the GPU host itself: the standard library and bash only, each file able to stand alone."""
