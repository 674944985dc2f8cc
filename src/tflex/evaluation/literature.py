"""Published results of link prediction, to stand beside ours. Values are fractions.

Those of the TFLEX paper are its table as data. The others are quoted as the field quotes them; the
papers could not be fetched where this was written, so check a figure before you cite it. Not all of
them answer the question that is asked here, so each says by which protocol it was made.
"""

from __future__ import annotations

from typing import NamedTuple

from tflex.query.paper import printed_links


class Published(NamedTuple):
    """A row of a published table; None where it has no value."""

    method: str
    mrr: float | None
    hits1: float | None
    hits3: float | None
    hits10: float | None
    source: str
    protocol: str


TIME_AWARE = "both directions, time-aware filter"
INTERVALS = "both directions, filter over whole intervals"
FORWARD = "objects alone, known answers stay in"
FORECASTS = "forecasts of later days, raw ranks"
_OTHERWISE = {"TFLEX": FORWARD, "TFLEX-1p": FORWARD, "RGCRN": FORECASTS, "CyGNet": FORECASTS,
              "RE-NET": FORECASTS, "RE-GCN": FORECASTS}  # fmt: skip
"""Rows of the TFLEX paper's table that are no time-aware link prediction: its own are the results
of `Pe` from its table of queries, and four are quoted from the paper of RE-GCN."""


TERO = "Xu et al., TeRo, COLING 2020"
LACROIX = "Lacroix et al., TNTComplEx, ICLR 2020 (their largest model)"
TELM = "Xu et al., TeLM, NAACL 2021"
TLT = "Zhang et al., TLT-KGE, CIKM 2022"
TEAST = "Li et al., TeAST, ACL 2023"
TCOMPOUNDE = "Ying et al., TCompoundE, 2024"
TIMEPLEX = "Jain et al., TIMEPLEX, EMNLP 2020"

MORE: dict[str, tuple[Published, ...]] = {
    "ICEWS14": (
        Published("TNTComplEx", 0.62, 0.52, 0.66, 0.76, LACROIX, TIME_AWARE),
        Published("TeRo", 0.562, 0.468, 0.621, 0.732, TERO, TIME_AWARE),
        Published("TeLM", 0.625, 0.545, 0.673, 0.774, TELM, TIME_AWARE),
        Published("TLT-KGE", 0.634, 0.551, 0.684, 0.786, TLT, TIME_AWARE),
        Published("TeAST", 0.637, 0.560, 0.682, 0.782, TEAST, TIME_AWARE),
        Published("TCompoundE", 0.644, 0.561, 0.694, 0.795, TCOMPOUNDE, TIME_AWARE),
    ),
    "YAGO11k": (
        Published("TTransE", 0.108, 0.020, 0.150, 0.251, TERO, INTERVALS),
        Published("HyTE", 0.105, 0.015, 0.143, 0.272, TERO, INTERVALS),
        Published("TA-DistMult", 0.161, 0.103, 0.171, 0.292, TERO, INTERVALS),
        Published("ATiSE", 0.170, 0.110, 0.171, 0.288, TERO, INTERVALS),
        Published("TeRo", 0.187, 0.121, 0.197, 0.319, TERO, INTERVALS),
        Published("TeLM", 0.191, 0.129, 0.194, 0.321, TELM, INTERVALS),
        Published("TIMEPLEX", 0.2364, 0.1692, None, 0.3671, TIMEPLEX, INTERVALS),
    ),
    "Wikidata12k": (
        Published("TTransE", 0.172, 0.096, 0.184, 0.329, TERO, INTERVALS),
        Published("HyTE", 0.180, 0.098, 0.197, 0.333, TERO, INTERVALS),
        Published("TA-DistMult", 0.218, 0.122, 0.232, 0.447, TERO, INTERVALS),
        Published("ATiSE", 0.280, 0.175, 0.317, 0.481, TERO, INTERVALS),
        Published("TeRo", 0.299, 0.198, 0.329, 0.507, TERO, INTERVALS),
        Published("TeLM", 0.332, 0.231, 0.360, 0.542, TELM, INTERVALS),
        Published("TIMEPLEX", 0.3335, 0.2278, None, 0.5320, TIMEPLEX, INTERVALS),
    ),
}


def published_links(dataset: str) -> list[Published]:
    """What was published of a dataset, by rising MRR; nothing of datasets that nobody has."""
    rows = [
        Published(
            method,
            **numbers,
            source="Lin et al., TFLEX, NeurIPS 2023, its table of links",
            protocol=_OTHERWISE.get(method, TIME_AWARE),
        )
        for method, numbers in printed_links(dataset).items()
    ]
    for name, more in MORE.items():
        if name.lower() == dataset.lower():
            rows += more
    return sorted(rows, key=lambda row: row.mrr or 0.0)
