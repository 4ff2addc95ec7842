"""Search engines over HTTP, and templates of the features that they compute."""

from typing import TYPE_CHECKING

from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.engines.solr import Deployment, EngineRun, LoggedFeatures, Solr, Verification

__all__ = ["Deployment", "EngineRun", "LoggedFeatures", "Solr", "Verification"]

__getattr__ = lazy_attributes(__name__, dict.fromkeys(__all__, "solr"))
