"""What a function computes: traced, derived, proved and printed. Its modules are imported by name."""
