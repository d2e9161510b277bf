"""Samplers that fit a distribution and draw from it: Laplace, Pathfinder, variational inference, SVGD."""
