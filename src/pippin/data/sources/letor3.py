"""LETOR 3.0: OHSUMED and the six query sets on the Gov corpus."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register, rotate

register(
    Source(
        "ohsumed",
        "LETOR 3.0 OHSUMED",
        features=45,
        labels=(0, 1, 2),
        origin="Qin, Liu, Xu and Li 2010, LETOR; counted in the files",
        counts=rotate([Count(21, 2570), Count(21, 3076), Count(21, 3573), Count(21, 3538), Count(22, 3383)]),
        total=Count(106, 16_140),
    )
)

TASKS = {"td": "topic distillation", "hp": "homepage finding", "np": "named page finding"}
QUERIES = {"td2003": 50, "td2004": 75, "hp2003": 150, "hp2004": 75, "np2003": 150, "np2004": 75}

for _name, _queries in QUERIES.items():
    _task, _year = _name[:2], _name[2:]
    register(
        Source(
            _name,
            f"LETOR 3.0 {_name.upper()} ({TASKS[_task]}, TREC {_year})",
            features=64,
            labels=(0, 1),
            origin="Qin, Liu, Xu and Li 2010, LETOR, Tables 1 and 2",
            total=Count(_queries),
            aliases=(f"{_year}_{_task}_dataset",),
        )
    )
