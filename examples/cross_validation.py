"""Choose features and number of trees by cross-validation with scikit-learn's own tools."""

from sklearn.model_selection import GridSearchCV, KFold

from defrag import Focused, LabelTree, TextClassifier, TextVectorizer, load_dataset

texts, labels = load_dataset("debian").texts("train", 3000)
search = GridSearchCV(
    TextClassifier(Focused(LabelTree()), TextVectorizer(), random_state=0),
    {"base__base__n_trees": [1, 3], "vectorizer__min_df": [1, 4]},
    cv=KFold(3),  # classes would be stratified; these texts have lists of labels
)
search.fit(texts, labels)  # the score of a text classifier is P@1

found = search.cv_results_
columns = ("params", "mean_test_score", "std_test_score")
for settings, mean, error in zip(*(found[name] for name in columns), strict=True):
    trees, least = settings.values()
    chosen = " <- best" if settings == search.best_params_ else ""
    print(f"{trees} tree(s), words in at least {least}: P@1 {mean:.3f} +- {error:.3f}{chosen}")
