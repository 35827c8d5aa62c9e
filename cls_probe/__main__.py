"""python -m cls_probe."""

from cls_probe.cli import main

main()
