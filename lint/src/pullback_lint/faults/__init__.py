"""One file per fault: the docstring is its page, `NAME` and `SEVERITY` are its data. A fault is found by existing."""
