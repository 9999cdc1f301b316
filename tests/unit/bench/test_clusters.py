"""The table of what clusters cost."""

from __future__ import annotations

from bench.clusters import Cost, of_living, table


def test_each_cluster_more_is_half_of_the_difference_round_by_round() -> None:
    few = [Cost(8, 10, 1000), Cost(9, 11, 1100), Cost(20, 12, 1000)]
    many = [Cost(14, 20, 2000), Cost(17, 19, 2200), Cost(22, 22, 2200)]
    assert table(few, many).rows == [
        ["seconds", "9.0 s", "17.0 s", "3.0 s"],
        ["cpu", "11.0 s", "20.0 s", "5.0 s"],
        ["memory", "1000.0 MB", "2200.0 MB", "550.0 MB"],
    ]


def test_a_process_that_has_ended_meanwhile_counts_nothing() -> None:
    def measure(pid: int) -> float:
        if pid == 2:
            raise ProcessLookupError
        return float(pid)

    assert of_living(measure, [1, 2, 4]) == 5.0
