"""Train on a Ray cluster: the same model as on one machine, byte for byte.

python train_on_ray.py [ADDRESS]        # without an address, a local cluster of two processors
"""

import sys
import time

from defrag import LabelTree, load_dataset
from defrag.distributed import fit_ray

try:
    import ray
except ImportError:
    sys.exit("this example needs Ray: pip install 'defrag[ray]'")

train = load_dataset("debian").train
X, Y = train.X[::10], train.Y[::10]
if len(sys.argv) > 1:
    ray.init(sys.argv[1], log_to_driver=False)
else:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

begin = time.perf_counter()
model = fit_ray(LabelTree(n_trees=3, random_state=0), X, Y)
print(f"trained on {ray.cluster_resources()['CPU']:.0f} processors", end=" ")
print(f"in {time.perf_counter() - begin:.1f} s")

here = LabelTree(n_trees=3, random_state=0).fit(X, Y)
same = (model.predict_topk(X)[1] == here.predict_topk(X)[1]).all()
print("the same scores as on one machine:", bool(same))
ray.shutdown()
