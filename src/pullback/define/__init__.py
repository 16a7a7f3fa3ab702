"""Functions with rules: what ``@pullback.function`` makes, and how every stack comes to use the rules."""
