"""Other hash methods behind one interface, for comparison with *SHL.

All are scikit-learn transformers: ``fit(X, y)``, ``transform(X)`` gives bits (n x B, 0/1),
``hash(X)`` packed bytes. Each is written from its own publication, with its settings.
"""

from shlcore.baselines.anchor_graph import AnchorGraphHashing
from shlcore.baselines.bre import BRE
from shlcore.baselines.ecoc import ECOC
from shlcore.baselines.ksh import KSH
from shlcore.baselines.projections import ITQ, LSH, SpectralHashing
from shlcore.baselines.sdh import SDH

__all__ = ["BRE", "ECOC", "ITQ", "KSH", "LSH", "SDH", "AnchorGraphHashing", "SpectralHashing"]
