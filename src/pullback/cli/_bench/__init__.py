"""Parts of ``pullback bench``."""
