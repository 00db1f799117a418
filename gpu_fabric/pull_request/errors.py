"""What ends a report before there is one."""


class InputError(Exception):
    """What was asked for is not there; the text says what to give."""
