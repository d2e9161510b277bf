"""The answer of the report: sentences on gaps to exact draws."""

from experiments.report.answer import answer


def row(environment, sampler, mean, gap=None, low=None, high=None):
    known = {
        "environment": environment,
        "sampler": sampler,
        "final_regret_mean": mean,
        "final_regret_se": 1.0,
    }
    known |= {} if gap is None else {"regret_gap": gap}
    known |= {} if low is None else {"regret_gap_low": low, "regret_gap_high": high}
    return known


def sentences_of(rows):
    return answer(rows, [one["sampler"] for one in rows], [one["environment"] for one in rows])


def test_answer_distinguishes_cells_by_their_intervals():
    first, sparse, dense = sentences_of(
        [
            row("sparse", "exact", 100.0),
            row("sparse", "mala", 101.0, 1.0, -2.0, 4.0),
            row("sparse", "sgld", 150.0, 50.0, 40.0, 60.0),
            row("dense", "exact", 200.0),
            row("dense", "mala", 190.0, -10.0, -12.0, -8.0),
            row("dense", "sgld", 2200.0, 2000.0, 1900.0, 2100.0),
        ]
    )
    assert first.startswith(
        "Of 4 cells with an exact reference, 1 cannot be distinguished from exact draws, 2 had more regret and 1 had "
        "less regret"
    )
    assert sparse == (
        "On sparse: more regret than exact draws (regret 100): sgld +50 [+40, +60]; "
        "no difference from exact draws (regret 100) found: mala +1 [−2, +4]."
    )
    assert "less regret than exact draws (regret 200): mala −10 [−12, −8]" in dense
    assert "sgld +2000 [+1900, +2100]" in dense


def test_answer_counts_cells_beyond_those_it_names():
    rows = [row("sparse", "exact", 1.0), *(row("sparse", f"s{i}", 2.0, 1.0 + i, 0.5, 9.0) for i in range(9))]
    assert sentences_of(rows)[1].endswith("s5 +6 [+0.5, +9] and 3 more.")


def test_answer_without_a_reference_or_an_interval():
    (text,) = sentences_of([row("sparse", "mala", 10.0), row("sparse", "sgld", 30.0)])
    assert "mala" in text
    assert "the least of 2; sgld the most, 30 ± 1" in text
    assert "no interval" in sentences_of([row("sparse", "exact", 1.0), row("sparse", "mala", 2.0, 1.0)])[0]
