"""What ``pullback demo`` shows: small Functions compared with references, and a network that is trained with two."""
