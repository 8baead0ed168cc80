"""Base class of estimators that find clusters."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from apnc import checks, describing, outputs, report, sources
from apnc.estimators.base import KernelEstimator
from apnc.outputs import DISTANCES, EMBEDDING, LABEL, MEMBERSHIP, OUTLIER
from apnc.progress import CallbackSupport, Progress

if TYPE_CHECKING:
    from apnc.certifying import Certificate


class KernelClusterer(CallbackSupport, ClusterMixin, KernelEstimator):
    """An estimator that finds clusters: ``fit``, and the outputs of the fitted model."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        to: Any = None,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of objects with a kernel function, or a path or anything else that
            ``apnc.open`` takes.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            A row of weight 2 counts as two equal rows; rows of weight 0 are ignored by the fit, but are labelled.
        to : path, default=None
            A .parquet, .arrow or .csv file to write the labels to (id columns or ``row``, then ``label``), instead of
            ``labels_``.
        progress : Progress, default=None
            Receives progress reports, instead of the display that ``verbose`` selects.
        checkpoint : path, default=None
            A folder that keeps what is done: landmarks, coefficients, embedded chunks, centroids. The same fit, started
            again after it was interrupted or killed, resumes from there, with the same result. Removed at the end.

        """
        return self._fit(X, sample_weight, to, progress, checkpoint)

    def __getattr__(self, name: str) -> Any:
        if name == "labels_" and "_no_labels" in self.__dict__:
            raise AttributeError(self._no_labels)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X and return ``labels_``; for a Spark DataFrame, return it with a column ``label``."""
        found = getattr(self.fit(X, sample_weight=sample_weight), "labels_", None)
        return self.predict(X) if found is None else found

    def predict(self, X: Any, to: Any = None) -> Any:
        """Cluster number of each row, int32; with ``to``, written to that .parquet, .arrow or .csv file.

        A Spark DataFrame gets a column ``label``.
        """
        return self._apply(X, LABEL, to)

    def transform(self, X: Any, to: Any = None) -> Any:
        """Distances to the centroids in the kernel's space, shape (n, k), float64.

        With ``to``, written to that .npy, .parquet, .arrow or .csv file. A Spark DataFrame gets a column ``distances``.
        """
        return self._apply(X, DISTANCES, to)

    def embed(self, X: Any, to: Any = None) -> Any:
        """Y, shape (n, ``n_components_``), float32; with ``to``, written to that .npy, .parquet, .arrow or .csv file.

        A Spark DataFrame gets a column ``embedding``.
        """
        return self._apply(X, EMBEDDING, to)

    def membership(self, X: Any, to: Any = None) -> Any:
        """How much each row belongs to each cluster, shape (n, k), float64; rows sum to 1.

        Softmax of -d^2 / T, with d the distance to a centroid and T the mean squared distance of the fit's rows to
        their own (if that is 0, the nearest centroids share 1). With ``to``, written to that .npy, .parquet, .arrow or
        .csv file. A Spark DataFrame gets a column ``membership``.
        """
        return self._apply(X, MEMBERSHIP, to)

    def outlier_score(self, X: Any, to: Any = None) -> Any:
        """How far out each row is in its cluster, from 0 to 1, float64.

        The weight share of the cluster's rows in the fit that are nearer to the centroid, from bins kept with the
        model, within which it is interpolated. Rows in a cluster that was empty in the fit have 1. Unlike those
        of ``transform``, the distances include the part of a row that the landmarks do not span, if k(x, x) is the same
        for all rows (rbf, laplacian, chi2, normalised kernels) and ``embedding`` is not "stable". Otherwise a row that
        is similar to no landmark may look ordinary. With ``to``, written to that .parquet, .arrow or .csv file. A Spark
        DataFrame gets a column ``outlier``.
        """
        return self._apply(X, OUTLIER, to)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of X.

        Not for choosing the number of clusters or gamma: more clusters and a smaller gamma always score higher. Use
        ``apnc.choose`` for the number of clusters, and in ``GridSearchCV`` ``scoring=apnc.stability_scorer``.
        """
        check_is_fitted(self)
        job = self._job(X, sample_weight)
        with job.running():
            return -outputs.inertia(job, self._model)

    def prototypes(self, X: Any, n: int = 5, boundary: bool = False) -> describing.Prototypes:
        """The ``n`` distinct rows of X in each cluster that are nearest to its centroid; one pass over X.

        With ``boundary``, those nearest to the border with another cluster: their distances to the two nearest
        centroids differ least, relative to the larger. ``km.prototypes(X)[c].rows`` are those of cluster c, ``numbers``
        and ``ids`` say which they are. Rows of a Spark DataFrame are collected on the driver; they have no
        numbers, so open it with ``id_columns`` to know them.
        """
        return self._described(X, describing.prototypes, n, boundary)

    def describe(
        self, X: Any, feature_names: Sequence[str] | None = None, n: int = 5, sample_weight: Any = None
    ) -> describing.Description:
        """What is in each cluster, as found in X in one pass.

        Parameters
        ----------
        X : the rows of the fit, or others.
        feature_names : names of the features, default=None
            By default those of the fit, else x0, x1, ...
        n : int, default=5
            Features and prototypes of each cluster.
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        Description
            For each cluster size and share, cohesion (mean squared distance to the centroid), nearest other cluster,
            features that set it apart, and prototypes. Dense features are compared by the mean in the cluster and
            overall, in standard deviations; sparse ones by how often they occur (log-odds against the other clusters);
            objects have none. ``print`` it, or take ``to_frame()``.

        """
        return self._described(X, describing.describe, feature_names, n, sample_weight=sample_weight)

    def tree(self) -> describing.Tree:
        """How clusters merge: Ward's tree on the centroids with their sizes, in scipy's format."""
        check_is_fitted(self)
        return describing.tree(self._model)

    def cut(self, k: int) -> Self:
        """A fitted estimator with ``k`` clusters, merged by ``tree()``, without a new fit.

        A row gets the cluster of its nearest centroid among those of this estimator, and its distance to a cluster is
        that to the nearest of them; ``inertia_`` stays the same. ``cluster_centers_`` are the weighted means of the
        merged centroids. It predicts, saves and runs on Spark like any other.
        """
        check_is_fitted(self)
        groups = describing.tree(self._model).groups(k)
        fewer = clone(self).set_params(n_clusters=len(np.unique(groups)))
        fewer._restore(describing.cut(self._model, groups))
        known = {name: vars(self)[name] for name in ("_n_rows", "_no_labels") if name in vars(self)}
        vars(fewer).update(known)
        if "labels_" in vars(self):
            fewer.labels_ = groups[self.labels_]
        return fewer

    def report(
        self,
        X: Any,
        path: Any,
        *,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        certificate: Any = None,
        choice: Any = None,
        sample_weight: Any = None,
    ) -> Path:
        """Write one page about the clusters of X: a self-contained .html file that shows some of its rows.

        It has the sizes, a map, the tree of clusters, and for each cluster the features that set it apart, prototypes
        and outliers; three passes over X.

        Parameters
        ----------
        X : the rows of the fit, or others.
        path : of the page, which ends in .html.
        title : str, default=None
            By default the name of the data.
        feature_names : names of the features, default=None
            By default those of the fit, else x0, x1, ...
        certificate : Certificate, default=None
            What ``certify(X)`` found.
        choice : Choice, default=None
            What ``apnc.choose`` found.
        sample_weight : array of shape (n,), default=None

        """
        check_is_fitted(self)
        target = report.check_report(path)
        sources.refuse_overwriting(X, target)
        parameters = self.get_params(deep=False)
        wanted = report.Wanted(title, feature_names, certificate, choice, type(self).__name__, parameters)
        material = self._described(X, report.material, wanted, sample_weight=sample_weight)
        return report.write_report(target, material)

    def certify(
        self, X: Any, sample_weight: Any = None, *, n_rows: int | str = "auto", random_state: Any = 0
    ) -> "Certificate":
        """How far the labels of X are from those of the exact method, estimated on a sample.

        Parameters
        ----------
        X : as in ``fit``; for a precomputed kernel the fitted matrix.
        sample_weight : array of shape (n,), default=None
        n_rows : int or "auto", default="auto"
            Distinct rows in the sample, whose kernel matrix is computed. "auto": 4,000, or 1,000 for a kernel function,
            and at least 10 for each cluster.
        random_state : int, RandomState or None, default=0

        """
        from apnc import certifying

        check_is_fitted(self)
        size = checks.size_or_auto("n_rows", n_rows)
        job = self._job(X, sample_weight, shown=self._progress(None))
        checks.refuse_other_matrix(job.source)
        other = copy(self)
        # Start labels belong to the rows of the fit, and drawing from a RandomState would change the next fit.
        seed = checks.random_seed(random_state)
        other.__dict__.update(init="k-means++", random_state=seed, scale=None)
        settings = checks.settings_of(other, job.source)
        known = settings.kernel.known(self._model.embedding.kernel)
        with job.running():
            return certifying.certify(
                job, self._model, certifying.Asked(replace(settings, kernel=known), size)
            )

    def _described(self, X: Any, find: Any, *given: Any, sample_weight: Any = None) -> Any:
        """What ``find`` finds in X; progress is shown if it is asked for."""
        check_is_fitted(self)
        job = self._job(X, sample_weight, shown=self._progress(None))
        with job.running():
            job.announce("describing", self._model.embedding.n_pairs)
            return find(job, self._model, *given)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
