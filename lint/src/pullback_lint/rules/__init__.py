"""One file per rule, found by existing: `CODE`, and `check_function` or `check_module`."""
