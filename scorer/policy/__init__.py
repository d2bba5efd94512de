"""All that turns scores into calls: thresholds, gates and segment rules, on columns, no I/O."""
