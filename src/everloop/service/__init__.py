"""Use cases with their checks; the only way from an interface to the loop and the store."""

from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation, open_installation
from everloop.service.request import Options, StartRequest

__all__ = ["LOCAL", "Caller", "Installation", "Options", "StartRequest", "open_installation"]
