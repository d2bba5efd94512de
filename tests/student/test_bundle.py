import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper

from scorer.errors import BundleError
from scorer.student import folder as folder_module
from scorer.student.bundle import load_student
from scorer.student.folder import find_bundle, load_manifest, read_card
from scorer.targets import Targets
from scorer.train.graph import build_graph
from scorer.train.quantise import Table

Change = Callable[[onnx.ModelProto], None]


def refusal(act: Callable[[], object]) -> str:
    """The text of the `BundleError`: one or two lines, exit code 4."""
    with pytest.raises(BundleError) as caught:
        act()
    text = str(caught.value)
    assert caught.value.exit_code == 4
    assert len(text.splitlines()) in (1, 2)
    return text


def refused_load(folder: Path) -> str:
    return refusal(lambda: load_student(folder))


def edited(model: bytes, change: Change) -> bytes:
    proto = onnx.load_model_from_string(model)
    change(proto)
    return proto.SerializeToString()


@pytest.fixture
def copied(made_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the made bundle that the test may damage."""
    return Path(shutil.copytree(made_bundle, tmp_path / "copied"))


def rewrite_manifest(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    path = folder / "bundle.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_whole_bundle_loads(made_bundle: Path, made) -> None:
    student = load_student(made_bundle)
    assert student.folder == made_bundle
    assert student.manifest.targets == made.targets
    assert student.version == load_manifest(made_bundle).version
    assert student.version.startswith("made@")


def test_the_manifest_says_its_version_and_survives_a_round_trip(made_bundle: Path) -> None:
    text = (made_bundle / "bundle.json").read_text(encoding="utf-8")
    manifest = load_manifest(made_bundle)
    assert json.loads(text)["version"] == manifest.version
    assert manifest.to_json() == text


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: Path) -> None:
    assert refused_load(tmp_path) == f"{tmp_path}: no bundle there (bundle.json is missing)."


@pytest.mark.parametrize("content", ["", "{", "3", "null", '"text"', "[]", "[1]", "{}"])
def test_a_manifest_that_is_no_manifest_is_told(copied: Path, content: str) -> None:
    (copied / "bundle.json").write_text(content)
    text = refused_load(copied)
    assert text.startswith(f"{copied / 'bundle.json'}: not a bundle manifest (")


def test_a_manifest_with_a_wrong_field_names_the_field(copied: Path) -> None:
    rewrite_manifest(copied, lambda content: content["encoder"].update(ngrams=0))
    assert refused_load(copied) == (
        f"{copied / 'bundle.json'}: encoder.ngrams: Input should be greater than or equal to 1."
    )


def test_a_manifest_with_an_unknown_field_names_it(copied: Path) -> None:
    rewrite_manifest(copied, lambda content: content.update(extra=1))
    assert refused_load(copied).startswith(f"{copied / 'bundle.json'}: extra: Extra inputs")


def test_a_manifest_of_another_schema_is_refused(copied: Path) -> None:
    rewrite_manifest(copied, lambda content: content.update(schema_version=2))
    assert refused_load(copied).startswith(f"{copied / 'bundle.json'}: schema_version: ")


def test_an_edited_manifest_is_refused(copied: Path) -> None:
    version = load_manifest(copied).version
    rewrite_manifest(copied, lambda content: content["maturity"].update(note="better"))
    first, second = refused_load(copied).splitlines()
    assert first.startswith(
        f"{copied / 'bundle.json'}: says version {version}, its content makes made@"
    )
    assert second == "The manifest was changed after training: restore it, or train again."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heads": [{"name": "a"}, {"name": "a"}]}, "heads must have distinct names"),
        ({"heads": []}, "at least 1 item"),
        ({"heads": [{"name": "a/b"}]}, "should match pattern"),
    ],
)
def test_targets_that_do_not_fit_together_are_refused(
    copied: Path, changes: dict[str, object], said: str
) -> None:
    rewrite_manifest(copied, lambda content: content["targets"].update(changes))
    text = refused_load(copied)
    assert text.startswith(f"{copied / 'bundle.json'}: targets")
    assert said in text


def test_categories_come_before_flags(copied: Path) -> None:
    rewrite_manifest(copied, lambda content: content["targets"]["binary"].reverse())
    assert "categories come before flags" in refused_load(copied)


@pytest.mark.parametrize("name", ["model.onnx", "vocabulary.parquet", "policy.json", "README.md"])
def test_a_changed_file_is_refused(copied: Path, name: str) -> None:
    path = copied / name
    said = load_manifest(copied).files[name]
    path.write_bytes(path.read_bytes() + b"\n")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert refused_load(copied) == (
        f"{path}: sha256 is {found[:12]}…, the manifest says {said[:12]}…\n"
        "The file was changed or damaged: copy the bundle again, or train it again."
    )


@pytest.mark.parametrize("name", ["model.onnx", "vocabulary.parquet", "policy.json", "README.md"])
def test_a_missing_file_is_told(copied: Path, name: str) -> None:
    (copied / name).unlink()
    assert refused_load(copied) == (
        f"{copied / name}: missing. Copy the bundle again, or train it again."
    )


@pytest.mark.parametrize("name", ["model.onnx", "vocabulary.parquet", "policy.json"])
def test_a_file_without_a_hash_is_refused(
    made, tmp_path: Path, made_bundle: Path, name: str
) -> None:
    files = {n: h for n, h in load_manifest(made_bundle).files.items() if n != name}
    folder = replace(made, changes={"files": files}).write(tmp_path / "b")
    assert refused_load(folder) == (
        f"{folder / 'bundle.json'}: lists no hash for {name}. Train it again."
    )


@pytest.mark.parametrize("name", ["../outside.bin", "/etc/hostname", "deeper/inside.bin"])
def test_a_file_out_of_the_folder_is_refused(
    made, tmp_path: Path, made_bundle: Path, name: str
) -> None:
    (tmp_path / "outside.bin").write_bytes(b"x")
    files = load_manifest(made_bundle).files | {name: hashlib.sha256(b"x").hexdigest()}
    folder = replace(made, changes={"files": files}).write(tmp_path / "b")
    assert (
        refused_load(folder) == f"{folder}: {name!r} points out of the bundle's folder; not loaded."
    )


def test_a_model_that_keeps_its_weights_elsewhere_is_refused(made, tmp_path: Path) -> None:
    onnx.save_model(
        onnx.load_model_from_string(made.model),
        tmp_path / "split.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    split = (tmp_path / "split.onnx").read_bytes()
    folder = replace(made, model=split).write(tmp_path / "b")
    shutil.copy(tmp_path / "weights.bin", folder)
    assert refused_load(folder) == (
        f"{folder / 'model.onnx'}: keeps weights in another file, which may lie anywhere; not "
        "loaded.\nA bundle holds its whole graph in model.onnx: save it as one file."
    )


def test_a_model_that_is_no_onnx_is_refused(made, tmp_path: Path) -> None:
    folder = replace(made, model=b"no graph at all").write(tmp_path / "b")
    text = refused_load(folder)
    assert text.startswith(f"{folder / 'model.onnx'}: onnxruntime cannot load it (")


def test_a_model_with_an_operator_of_a_custom_library_is_refused(made, tmp_path: Path) -> None:
    def customise(model: onnx.ModelProto) -> None:
        model.opset_import.add(domain="some.library", version=1)
        model.graph.node[0].domain = "some.library"

    folder = replace(made, model=edited(made.model, customise)).write(tmp_path / "b")
    text = refused_load(folder)
    assert text.startswith(f"{folder / 'model.onnx'}: onnxruntime cannot load it (")


def without_output(model: onnx.ModelProto) -> None:
    (place,) = [n for n, o in enumerate(model.graph.output) if o.name == "gemma/domain"]
    del model.graph.output[place]


def test_a_missing_output_is_named(made, tmp_path: Path) -> None:
    folder = replace(made, model=edited(made.model, without_output)).write(tmp_path / "b")
    assert refused_load(folder) == (
        f"{folder / 'model.onnx'}: no output 'gemma/domain', which the manifest promises."
    )


def with_another_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].name = "tokens"
    for node in model.graph.node:
        node.input[:] = ["tokens" if name == "ids" else name for name in node.input]


def with_two_inputs(model: onnx.ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.INT32, ["B", "L"]))


def with_wide_integers(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64


@pytest.mark.parametrize("change", [with_another_input, with_two_inputs, with_wide_integers])
def test_a_model_that_takes_other_inputs_is_refused(made, tmp_path: Path, change: Change) -> None:
    folder = replace(made, model=edited(made.model, change)).write(tmp_path / "b")
    text = refused_load(folder)
    assert text.startswith(f"{folder / 'model.onnx'}: takes {{")
    assert text.endswith("}, expected one input ids of int32 [B, L].")


def test_an_output_of_another_width_is_refused(made, tmp_path: Path) -> None:
    binary = made.targets.binary
    wider = made.targets.model_copy(
        update={"binary": (*binary, binary[-1].model_copy(update={"name": "one_more"}))}
    )
    folder = replace(made, targets=wider).write(tmp_path / "b")
    assert refused_load(folder) == (
        f"{folder / 'model.onnx'}: output 'codex/binary' is tensor(float) ['B', 5], "
        "expected float32 [B, 6]."
    )


def graph_of(targets: Targets, rows_kept: int | None, value: float = 0.5) -> bytes:
    """A graph that gives `value` for every score, for the first `rows_kept` works alone."""
    nodes = [
        helper.make_node("Shape", ["ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "from", "to"], ["works"]),
        helper.make_node("Cast", ["ids"], ["numbers"], to=TensorProto.FLOAT),
    ]
    constants = {
        "from": np.array([0]),
        "to": np.array([1]),
        "most": np.array([rows_kept or 1 << 30]),
    }
    outputs = []
    shapes = [(f"{h}/binary", len(targets.binary)) for h in targets.head_names]
    shapes += [(f"{h}/{a.name}", len(a.values)) for h in targets.head_names for a in targets.axes]
    nodes.append(helper.make_node("Min", ["works", "most"], ["kept"]))
    for place, (name, width) in enumerate(shapes):
        constants[f"w{place}"] = np.array([width])
        constants[f"v{place}"] = np.full((1, width), value, np.float32)
        nodes += [
            helper.make_node("Concat", ["kept", f"w{place}"], [f"s{place}"], axis=0),
            helper.make_node("Expand", [f"v{place}", f"s{place}"], [name]),
        ]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", width]))
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("ids", TensorProto.INT32, ["B", "L"])],
        outputs,
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def test_scores_that_are_not_finite_are_refused(made, tmp_path: Path) -> None:
    sound = replace(made, model=graph_of(made.targets, None)).write(tmp_path / "sound")
    assert load_student(sound).manifest.targets == made.targets
    broken = graph_of(made.targets, None, value=float("nan"))
    folder = replace(made, model=broken).write(tmp_path / "b")
    assert (
        refused_load(folder)
        == f"{folder / 'model.onnx'}: gives scores that are not finite. Train the bundle again."
    )


def test_an_output_with_too_few_rows_is_refused_when_it_comes(
    made, tmp_path: Path, works: pl.DataFrame
) -> None:
    folder = replace(made, model=graph_of(made.targets, 1)).write(tmp_path / "b")
    student = load_student(folder)
    assert student.score(works[:1]).binary["codex"].tolist() == [[0.5] * 5]
    assert refusal(lambda: student.score(works[:3])) == (
        "model.onnx: output 'codex/binary' has shape [1, 5], expected [3, 5].\n"
        "Train the bundle again."
    )


def test_a_vocabulary_of_another_size_than_the_manifest_says_is_refused(
    made, tmp_path: Path
) -> None:
    folder = replace(made, vocabulary=made.vocabulary[:-1]).write(tmp_path / "b")
    assert refused_load(folder) == (
        f"{folder / 'vocabulary.parquet'}: 599 n-grams, the manifest says 600."
    )


def test_a_vocabulary_larger_than_the_table_is_refused(made, tmp_path: Path) -> None:
    more = pl.DataFrame({"channel": ["title.word"], "ngram": ["one-too-many"]})
    settings = made.settings.model_copy(update={"ngrams": 601})
    folder = replace(made, vocabulary=pl.concat([made.vocabulary, more]), settings=settings).write(
        tmp_path / "b"
    )
    first, second = refused_load(folder).splitlines()
    assert first == (
        f"{folder / 'model.onnx'}: cannot score the last n-gram of the vocabulary; they do not "
        "belong together."
    )
    assert second.startswith("model.onnx: failed (")


@pytest.mark.parametrize(
    "vocabulary",
    [pl.DataFrame({"ngram": ["a"]}), pl.DataFrame({"channel": ["a"], "word": ["b"]})],
)
def test_a_vocabulary_without_its_columns_is_refused(
    made, tmp_path: Path, vocabulary: pl.DataFrame
) -> None:
    folder = replace(made, vocabulary=vocabulary).write(tmp_path / "b")
    text = refused_load(folder)
    assert text.startswith(f"{folder / 'vocabulary.parquet'}: not a vocabulary (")


def test_a_vocabulary_that_is_no_parquet_is_refused(
    made, made_bundle: Path, tmp_path: Path
) -> None:
    files = load_manifest(made_bundle).files
    files = files | {"vocabulary.parquet": hashlib.sha256(b"title.word,a\n").hexdigest()}
    folder = replace(made, changes={"files": files}).write(tmp_path / "b")
    (folder / "vocabulary.parquet").write_bytes(b"title.word,a\n")
    text = refused_load(folder)
    assert text.startswith(f"{folder / 'vocabulary.parquet'}: not a vocabulary (")


def test_bundles_that_differ_in_one_weight_have_different_versions(made, tmp_path: Path) -> None:
    weights = made.table.weights.copy()
    weights[3, 4] += 1
    model = build_graph(Table(weights, made.table.bias, made.table.unit), made.targets)
    other = replace(made, model=model).write(tmp_path / "other")
    same = made.write(tmp_path / "same")
    versions = [load_student(folder).version for folder in (same, other)]
    assert versions[0] != versions[1]
    assert load_student(made.write(tmp_path / "again")).version == versions[0]


def test_bundles_that_differ_in_the_model_card_alone_have_different_versions(
    made, made_bundle: Path, tmp_path: Path
) -> None:
    files = load_manifest(made_bundle).files
    files = files | {"README.md": hashlib.sha256(b"other").hexdigest()}
    folder = replace(made, changes={"files": files}).write(tmp_path / "b")
    (folder / "README.md").write_bytes(b"other")
    assert load_student(folder).version != load_manifest(made_bundle).version


def test_the_model_card_is_read(copied: Path) -> None:
    assert read_card(copied) == "# made\n"
    (copied / "README.md").unlink()
    assert refusal(lambda: read_card(copied)).startswith(
        f"{copied / 'README.md'}: no model card (No such file"
    )


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made_bundle: Path) -> Path:
    """A checkout whose `models/` holds two bundles and a folder that is none."""
    root = tmp_path / "checkout"
    for name in ("beta", "alpha"):
        shutil.copytree(made_bundle, root / "models" / name)
    (root / "models" / "notes").mkdir()
    monkeypatch.setattr(folder_module, "files", lambda _: root / "scorer")
    monkeypatch.chdir(tmp_path)
    return root / "models"


def test_a_bundle_is_found_by_the_name_it_is_shipped_under(shipped: Path) -> None:
    assert find_bundle("alpha") == shipped / "alpha"
    assert [path.name for path in folder_module.shipped_bundles()] == ["alpha", "beta"]


def test_bundles_inside_the_package_are_preferred(shipped: Path, made_bundle: Path) -> None:
    packaged = shipped.parent / "scorer" / "_models" / "alpha"
    shutil.copytree(made_bundle, packaged)
    assert find_bundle("alpha") == packaged


def test_a_bundle_is_found_by_its_folder(
    shipped: Path, made_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_bundle(str(made_bundle)) == made_bundle
    monkeypatch.chdir(made_bundle.parent)
    assert find_bundle(made_bundle.name) == Path(made_bundle.name)


def test_an_unknown_name_is_told_with_what_is_shipped(shipped: Path) -> None:
    assert refusal(lambda: find_bundle("gamma")) == (
        "gamma: no such bundle. Shipped: alpha, beta; or give a bundle's folder."
    )
    shutil.rmtree(shipped)
    assert refusal(lambda: find_bundle("gamma")) == (
        "gamma: no such bundle. Shipped: none; or give a bundle's folder."
    )
