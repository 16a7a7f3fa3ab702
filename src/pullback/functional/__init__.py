"""The catalogue: activations that learn, accurate activations, surrogates, gradient modifiers, safe maths.

Every function here is a Function with a record; ``pullback.catalogue()`` lists them.
"""

from pullback.functional.accurate_sigmoids import *
from pullback.functional.accurate_units import *
from pullback.functional.gated import *
from pullback.functional.learnable_curves import *
from pullback.functional.learnable_pieces import *
from pullback.functional.modifiers import *
from pullback.functional.quantizers import *
from pullback.functional.record import RECORDS
from pullback.functional.safe import *
from pullback.functional.surrogates import *
from pullback.kernels import way as way  # entries are fused, also for who imports no other part of pullback

__all__ = sorted(RECORDS)
