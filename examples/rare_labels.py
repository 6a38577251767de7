"""Find more rare labels at a loss of precision that you choose: re-rank with Refrag."""

from defrag import LabelTree, Refrag, load_dataset, metrics

data = load_dataset("debian")
X, Y = data.train.X[::10], data.train.Y[::10]
X_test, Y_test = data.test.X[::5], data.test.Y[::5]
model = Refrag(LabelTree(), target="PSP@3", max_loss=0.5, random_state=0).fit(X, Y)


def show(name: str, one: LabelTree | Refrag) -> None:
    """Print precision, and the same with a higher weight of rare labels."""
    report = metrics.evaluate(Y_test, one.predict_topk(X_test)[0], train_labels=Y)
    print(f"{name}: P@1 {report['P@1']:.1f}, PSP@3 {report['PSP@3']:.1f}")


print(*str(model.trade_off_).splitlines()[:6], sep="\n")  # measured on points held out of training
show("base", model.base_)
show("loss of P@1 up to 0.5", model)
show("loss of P@1 up to 3", model.choose(max_loss=3.0))  # another setting, without training again
