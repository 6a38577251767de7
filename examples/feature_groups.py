"""Find words that belong together: group the features of sparse data, as the paper does."""

import numpy as np

from defrag import Defrag, load_dataset

data = load_dataset("debian")
X = data.train.X
groups = Defrag(max_cluster_size=8, random_state=0).fit(X)  # words of the same texts
print(f"{X.shape[1]:,} words in {groups.transform(X[:1]).shape[1]:,} groups")

for word in ("jpeg", "guitar", "genome"):
    column = int(np.flatnonzero(data.feature_names == word)[0])
    members = np.flatnonzero(groups.labels_ == groups.labels_[column])
    print(f"{word}:", *(data.feature_names[one] for one in members if one != column))
