"""Exact draws from the feel-good posteriors of linear rewards. The mathematics knows no bandits: samplers.tilted."""

from samplers.tilted import (
    BLOCK,
    MOST_BLOCKS,
    Envelopes,
    Tilted,
    draw,
    draws,
    envelopes,
    propose_until_kept,
    tilted,
)

__all__ = [
    "BLOCK",
    "MOST_BLOCKS",
    "Envelopes",
    "Tilted",
    "draw",
    "draws",
    "envelopes",
    "propose_until_kept",
    "tilted",
]
