"""Interchangeable samplers for a log-density that changes from call to call.

Names are imported on first use, from the modules that `__init__.pyi` lists.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
