"""Users of Python have no flags: messages of the program name parameters."""

import inspect

import pytest

from psishap import Model, PsiClassifier, PsiRegressor, _psi, from_model


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("name another column in --validation-by", "name another column in validation_by"),
        ("give an earlier --validation-after, or more rows", "give an earlier validation_after, or more rows"),
        ("leave it out of --missing-as-level", "leave it out of missing_as_level"),
        ("Train with effort normal (--effort normal).", 'Train with effort normal (effort="normal").'),
        ("Train with a longer time (--time-budget), or without one.", "Train with a longer time (time_budget), or without one."),
        ("Train with more steps (--set steps=200).", "Train with more steps (steps=200)."),
        ("Train with --set pairs=3.", 'Train with settings={"pairs": 3}.'),
        ("If not, train again without it (--drop a,b).", 'If not, train again without it (drop=["a", "b"]).'),
        ("Train on these alone (--only a,b), or not.", "Train on these alone, or not."),
        (
            "choose --game baseline or --game interventional, or leave --reference out",
            'choose game="baseline" or game="interventional", or leave reference out',
        ),
        ("name all of them in --classes", "name all of them in classes"),
        (
            "it is read as 1500. --decimal , reads it as 1.5, and --categorical keeps the text as labels",
            "it is read as 1500. To read it as 1.5, convert the column before fit, and categorical_features keeps the text as labels",
        ),
        ("--date-order dmy or --date-order mdy says it", "convert them with pandas.to_datetime before fit"),
        ("give --backend go, or train without --resume", "remove the checkpoint directory to train from scratch"),
        (
            "psi train --help-config lists them (channels?)",
            'model_.manifest["settings"] of a fitted model lists them (channels?)',
        ),
        ("setting bags is -1: set it to 0", "n_bags is -1: set it to 0"),
        ('add "x" to the missing tokens if', 'add "x" to missing if'),
        ("--order-by cannot be combined with --validation", "order_by cannot be combined with eval_set"),
        ("a -- b, x--head and ---set", "a -- b, x--head and ---set"),
    ],
)
def test_flags_become_parameters(said, shown):
    assert _psi.in_parameters(said) == shown


def test_errors_name_parameters():
    failure = _psi.failure('{"message": "no row is after --validation-after", "remedy": "more --bags", "row": null, "column": "day"}', "")
    assert (failure.message, failure.remedy, failure.column) == ("no row is after validation_after", "more n_bags", "day")
    assert _psi.failure('{"message": "stopped", "remedy": null}', "").remedy is None
    assert _psi.failure("", "give --order-by").message == "give order_by"


def test_parameters_exist():
    for estimator in (PsiRegressor, PsiClassifier):
        known = {*inspect.signature(estimator).parameters, *inspect.signature(estimator.fit).parameters}
        assert set(_psi.PARAMETERS.values()) <= known
        assert set(_psi.EXPLAIN_PARAMETERS.values()) <= {*inspect.signature(estimator.explain).parameters}
    assert set(_psi.EXPLAIN_PARAMETERS.values()) <= {*inspect.signature(Model.explain).parameters}
    assert set(_psi.IMPORT_PARAMETERS.values()) <= {*inspect.signature(from_model).parameters}
