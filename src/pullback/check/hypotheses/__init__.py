"""Reasons for a wrong gradient, by family; each hypothesis is one small function of a `Trouble`."""
