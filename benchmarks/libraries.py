"""Our numbers beside those of the field's own libraries, on the same vectors.

    python benchmarks/libraries.py [STORE] [--layer N]

Prints one JSON object a line: measure, ours, theirs, library, difference. Without STORE it extracts the bundled
sample. scikit-learn comes with cls-probe; IsoScore and scikit-dimension are compared where they are installed (pip
install IsoScore scikit-dimension).
"""

import argparse
import json
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cls_probe
from cls_probe.analyses.transform import fit

Line = tuple[str, float, float, str]
"""Measure, ours, theirs, library."""


def geometry(store: cls_probe.VectorStore, layer: int) -> Iterator[Line]:
    """Compare anisotropy and its relatives."""
    vectors = store.layer(layer).astype(np.float64)
    metrics = ("mean_cosine", "pca_top_share", "isoscore", "uniformity")
    ours = cls_probe.anisotropy(store, layers=[layer], metrics=metrics)
    pairs = cosine_similarity(vectors)[np.triu_indices(len(vectors), k=1)]
    yield "mean_cosine", ours.mean_cosine[0], pairs.mean(), "scikit-learn cosine_similarity"
    yield "uniformity", ours.uniformity[0], np.log(np.exp(4 * (pairs - 1)).mean()), "scikit-learn cosine_similarity"
    yield "pca_top_share", ours.pca_top_share[0], PCA().fit(vectors).explained_variance_ratio_[0], "scikit-learn PCA"
    if find_spec("IsoScore"):
        from IsoScore.IsoScore import IsoScore

        yield "isoscore", ours.isoscore[0], float(IsoScore(vectors)), "IsoScore"
    if find_spec("skdim"):
        import skdim

        twonn = cls_probe.anisotropy(store, layers=[layer], metrics=["intrinsic_dimension"])
        theirs = skdim.id.TwoNN().fit(np.unique(vectors, axis=0)).dimension_
        yield "intrinsic_dimension", twonn.intrinsic_dimension[0], theirs, "scikit-dimension TwoNN"


def transforms(store: cls_probe.VectorStore, layer: int) -> Iterator[Line]:
    """Compare the corrected vectors, by their largest difference."""
    vectors = store.layer(layer).astype(np.float64)
    for name, theirs in (("standardize", StandardScaler()), ("whiten", PCA(whiten=True))):
        mapping = fit(name, lambda: [vectors])
        assert mapping is not None
        mine, other = mapping(vectors), theirs.fit_transform(vectors)
        if name == "whiten":
            mine, other = mine @ mine.T, other[:, : mine.shape[1]] @ other[:, : mine.shape[1]].T  # free of rotation
        yield (
            f"{name}, largest difference",
            float(np.abs(mine - other).max()),
            0.0,
            f"scikit-learn {type(theirs).__name__}",
        )


def separation(store: cls_probe.VectorStore, layer: int) -> Iterator[Line]:
    """Compare silhouette and the mean cosine of one class."""
    vectors = store.layer(layer).astype(np.float64)
    ours = cls_probe.class_gap(store, layers=[layer], permutations=0)
    yield "silhouette", ours.silhouette[0], silhouette_score(vectors, store.codes, metric="cosine"), "scikit-learn"
    first = cosine_similarity(vectors[store.codes == 0])
    mean = first[np.triu_indices(len(first), k=1)].mean()
    yield f"mean cosine within {store.label_names[0]}", ours.class_cosine[0, 0, 0], mean, "scikit-learn"


def probe(store: cls_probe.VectorStore, layer: int) -> Iterator[Line]:
    """Compare the accuracy of the probe on the same folds."""
    vectors = store.layer(layer).astype(np.float64)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = (cross_val_predict(pipeline, vectors, store.codes, cv=folds) == store.codes).mean()
    yield "probe accuracy", cls_probe.layer_probe(store, layers=[layer]).accuracy[0], theirs, "scikit-learn pipeline"


def main() -> None:
    """Read the command line and print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    parser.add_argument("--layer", type=int)
    options = parser.parse_args()
    store = cls_probe.VectorStore.open(options.store) if options.store else cls_probe.extract("sample")
    layer = max(store.layers) if options.layer is None else options.layer
    for part in (geometry, transforms, separation, probe) if store.labels else (geometry, transforms):
        for measure, ours, theirs, library in part(store, layer):
            line = {
                "measure": measure,
                "layer": layer,
                "ours": float(ours),
                "theirs": float(theirs),
                "library": library,
            }
            print(json.dumps({**line, "difference": abs(float(ours) - float(theirs))}))


if __name__ == "__main__":
    main()
