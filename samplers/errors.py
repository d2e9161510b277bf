"""Errors about the user's input. Nothing here imports JAX, so a command can report a mistake at once."""

import difflib
from collections.abc import Iterable, Mapping

# Old names of settings, options, diagnostics and values, and their new ones; the first that is valid is suggested.
RENAMED: Mapping[str, tuple[str, ...]] = {
    "steps": ("num_steps", "num_iterations"),
    "step": ("step_size", "learning_rate"),
    "leapfrogs": ("num_integration_steps",),
    "integration_steps": ("num_integration_steps",),
    "doublings": ("max_num_doublings",),
    "whiten": ("preconditioner",),
    "rule": ("step_size_rule",),
    "adapt": ("adaptation",),
    "target_acceptance": ("adaptation.target_acceptance_rate",),
    "warmup": ("adaptation.num_steps",),
    "warmup_every": ("adaptation.every",),
    "minibatch": ("batch_size",),
    "decay": ("step_size_decay",),
    "length": ("L",),
    "refresh": ("alpha",),
    "drift": ("delta",),
    "particles": ("num_particles",),
    "moves": ("num_mcmc_steps",),
    "move": ("kernel",),
    "resample": ("resampling_threshold",),
    "samples": ("num_samples",),
    "draws": ("num_samples",),
    "iterations": ("num_iterations", "maxiter"),
    "memory": ("maxcor",),
    "warm": ("warm_start",),
    "every": ("record_every", "adaptation.every"),
    "own": ("default",),
    "sigma": ("variance",),
    "guess": ("variance.initial_sigma",),
    "launcher": ("backend",),
    "launcher.address": ("backend.address",),
    "launcher.workers": ("backend.workers",),
    "launcher.slice": ("backend.runs_per_task",),
    "diagnostics.every": ("diagnostics.rounds",),
    "tv": ("total_variation",),
    "tv_floor": ("total_variation_floor",),
    "spread": ("sd_ratio",),
    "divergences": ("num_divergent",),
    "unique": ("fraction_moved",),
    "condition": ("condition_number",),
    "true": ("dense",),
    "false": ("none",),
}


class InputError(ValueError):
    """A mistake in the user's input, described in one line that names the valid choices."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns ` (did you mean 'x'?)` if a choice is the new name of `name` or close to it, else an empty string."""
    choices = list(choices)
    renamed = [new for new in RENAMED.get(name, ()) if new in choices]
    close = difflib.get_close_matches(name, choices)
    transposed = [choice for choice in close if sorted(choice) == sorted(name)]
    same_letters = [choice for choice in choices if choice.lower() == name.lower()]
    suggestions = renamed or same_letters or transposed or close
    return f" (did you mean {suggestions[0]!r}?)" if suggestions else ""
