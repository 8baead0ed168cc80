"""Inner products of sparse rows with sparse landmarks."""

from apnc.loops.compiled import FAST, compiled


@compiled(fastmath=FAST)
def sparse_products(data, columns, indptr, by_column, which, starts, out):  # type: ignore[no-untyped-def]
    """``out[i] = X[i] @ L.T`` for rows X in CSR and landmarks L in CSC format."""
    for i in range(indptr.size - 1):
        for c in range(out.shape[1]):
            out[i, c] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            for r in range(starts[columns[p]], starts[columns[p] + 1]):
                out[i, which[r]] += value * by_column[r]
