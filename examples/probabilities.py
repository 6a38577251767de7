"""Turn scores into probabilities: of the labels with 0.7, seven in ten should be right."""

import numpy as np

from defrag import LabelTree, load_dataset

data = load_dataset("debian")
X, Y = data.train.X[::6], data.train.Y[::6]
X_test, Y_test = data.test.X[::5], data.test.Y[::5]
held_out = np.arange(len(Y.indptr) - 1) % 3 == 0
model = LabelTree(random_state=0).fit(X[~held_out], Y[~held_out])
model = model.calibrate(X[held_out], Y[held_out])  # on points that were not used for training

labels, scores = model.predict_topk(X_test, k=10)
right = np.take_along_axis(Y_test.toarray() > 0, labels, axis=1)
probabilities = np.take_along_axis(model.predict_proba(X_test).toarray(), labels, axis=1)

print("between       right, by score   right, by probability")
for low in np.arange(0, 1, 0.2):
    share = [right[(low <= x) & (x < low + 0.2)].mean() for x in (scores, probabilities)]
    print(f"{low:.1f} and {low + 0.2:.1f}  {share[0]:16.2f}  {share[1]:22.2f}")
