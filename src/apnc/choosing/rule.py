"""From measures to a recommendation and its reason (docs/decisions/22-choosing-k.md)."""

from collections.abc import Sequence

from apnc.choosing.measuring import Measures

#: Clusters are found again in other rows from this prediction strength on (Tibshirani and Walther's own limit), and
#: separated below this valley.
FOUND_AGAIN, SEPARATED = 0.8, 0.5
#: A hint needs a stability that exceeds that of structureless data by this much, or a gap after which 1 - eigenvalue is
#: this many times larger (a uniform bar has 4).
HINTED, HINTED_GAP = 0.1, 6.0


def holds(one: Measures) -> bool:
    """Whether clusters are both found again and separated."""
    return one.prediction_strength >= FOUND_AGAIN and one.valley < SEPARATED


def recommended(found: Sequence[Measures]) -> Measures | None:
    """The largest number of clusters that holds; None: no clear structure."""
    return max(filter(holds, found), key=lambda one: one.n_clusters, default=None)


def reason(found: Sequence[Measures], chosen: Measures | None) -> str:
    """The recommendation and the numbers behind it, in two or three sentences."""
    least, most = found[0].n_clusters, found[-1].n_clusters
    if chosen is None:
        return nothing(found, least, most)
    k = chosen.n_clusters
    text = (
        f"{k} clusters: the most that other rows confirm and that have gaps between them. A fit to other rows keeps "
        f"{chosen.prediction_strength:.0%} of the pairs in the worst cluster together (at least {FOUND_AGAIN:.0%} are "
        f"wanted), and between the nearest two clusters there are {chosen.valley:.0%} as many rows as at their centres "
        f"(less than {SEPARATED:.0%} are wanted)."
    )
    after = next((one for one in found if one.n_clusters > k), None)
    if after is None:
        return f"{text} No larger number was tried: try more."
    return f"{text} With {after.n_clusters} it is {after.prediction_strength:.0%} and {after.valley:.0%}."


def nothing(found: Sequence[Measures], least: int, most: int) -> str:
    """What is missing at the number of clusters that comes nearest."""
    best = max(found, key=lambda one: min(one.prediction_strength - FOUND_AGAIN, SEPARATED - one.valley))
    tried = f"for no number of clusters from {least} to {most}" if most > least else f"with {least} clusters"
    return (
        f"No clear structure: {tried} are clusters both found again in other rows (at least {FOUND_AGAIN:.0%} of the "
        f"pairs in the worst cluster) and separated (less than {SEPARATED:.0%} as many rows between the nearest two as "
        f"at their centres). {best.n_clusters} clusters come nearest, with {best.prediction_strength:.0%} and "
        f"{best.valley:.0%}."
    )


def hint(found: Sequence[Measures], chosen: Measures | None) -> str | None:
    """Without a recommendation, a weaker sign of structure: two fits agree more than on structureless data.

    For a graph, a gap between its eigenvalues: its coordinates are far from Gaussian whatever the data.
    """
    if chosen is not None:
        return None
    gaps = [one for one in found if one.eigengap is not None]
    if gaps:
        best = max(gaps, key=lambda one: one.eigengap or 0.0)
        if (best.eigengap or 0.0) < HINTED_GAP:
            return None
        return (
            f"Only a hint: the largest gap between eigenvalues of the graph is after number {best.n_clusters} "
            f"(1 - eigenvalue grows {best.eigengap:.1f}-fold there)."
        )
    best = max(found, key=lambda one: one.stability - one.stability_null)
    if best.stability - best.stability_null < HINTED:
        return None
    return (
        f"Only a hint: with {best.n_clusters} clusters two fits agree most beyond chance (stability "
        f"{best.stability:.2f}, against {best.stability_null:.2f} for a Gaussian of the same covariance)."
    )
