"""Benchmarks of jiyi against the recipes it grew out of. See README.md; nothing here is installed."""
