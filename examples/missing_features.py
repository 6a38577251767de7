"""Predict for points that have lost most of their features, with Fiat."""

from defrag import Fiat, Imputed, LabelTree, load_dataset, metrics

data = load_dataset("debian")
X, Y = data.train.X[::10], data.train.Y[::10]
plain = LabelTree(random_state=0).fit(X, Y)
imputed = Imputed(LabelTree(), Fiat(), random_state=0).fit(X, Y)

X_test, Y_test = data.test.X[::10], data.test.Y[::10]
for missing in (0.0, 0.6, 0.8):
    rows = metrics.erase_features(X_test, missing, random_state=0)
    found = [metrics.precision(Y_test, m.predict_topk(rows)[0], k=1) for m in (plain, imputed)]
    print(f"{missing:.0%} missing: P@1 {found[0]:.1f}, with Fiat {found[1]:.1f}")
