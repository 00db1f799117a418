"""What a fabric will do to step time and bill, before it is bought: pure Python, no cloud, no Pulumi.

`collectives` time and bus bandwidth; `memory`, `traffic`, `compute`, `schedule` and `step` a training step; `planner`
the search over layouts and clouds; `price` the bill; `report` all of it as Markdown, HTML and JSON.
"""
