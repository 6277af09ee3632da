"""The `annotators` command as processes: serve, check, score, new, train-act."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from xmlrpc.client import ServerProxy

import pytest

from annotators.baselines.proteins import SHIPPED_NAMES
from annotators.baselines.relevance import Model
from annotators.cli import SERVERS, main
from annotators.contract import MEMBER_OF_TASK, problems
from annotators.serving import SHIPPED_MODEL
from metaserver.uniprot.build import build_release
from scoring import evaluate_files

TEXT = "MDM2 binds p53\nMDM2 interacts with p53 in a complex, as shown by co-immunoprecipitation."
DEMO = Path(str(files("metaserver.cli.demo_data")))


@contextmanager
def started(*arguments, **environment):
    """Start a server, yield its URL, and see it end well on SIGTERM."""
    command = [sys.executable, *arguments]
    env = os.environ | environment
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:")
            yield line.removeprefix("listening on ").strip()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "server",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "act" else name
        for name in SERVERS
        if name != "llm"
    ],
)
def test_each_server_answers_its_tasks_and_ends_on_sigterm(server):
    arguments = ("-m", "annotators", "serve", server, "--port", "0", "--delay", "0", "0.1")
    with started(*arguments) as url, ServerProxy(url) as proxy:
        answer = proxy.Annotator.getAnnotation(TEXT)
    assert set(answer) == {MEMBER_OF_TASK[task] for task in SERVERS[server]}
    assert list(problems(answer)) == []


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error():
    with started("-m", "annotators", "serve", "dictionary", "--port", "0") as url:
        command = f"{sys.executable} -m annotators check {url} | head -n 1"
        seen = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert seen.stdout.count("\n") == 1
    assert seen.stderr == ""


@pytest.mark.slow
def test_a_server_takes_its_names_from_a_release(tmp_path):
    head, *lines = SHIPPED_NAMES.read_text("utf-8").splitlines()
    table = tmp_path / "human.tsv"
    table.write_text("\n".join([f"{head}\tOrganism (ID)", *(f"{one}\t9606" for one in lines)]))
    build_release([table], name="made", out=tmp_path / "made", names=True)
    arguments = ("-m", "annotators", "serve", "dictionary", "--port", "0", "--uniprot")
    with started(*arguments, str(tmp_path / "made")) as url, ServerProxy(url) as proxy:
        of_release = proxy.Annotator.getAnnotation(TEXT)
    with started(*arguments[:-1]) as url, ServerProxy(url) as proxy:
        assert of_release == proxy.Annotator.getAnnotation(TEXT)
    assert {hit["dbid"] for hit in of_release["normalizations"]} == {"P04637", "Q00987"}


@pytest.mark.slow
@pytest.mark.parametrize(("task", "member"), [("IPT", "pairs"), ("NER", "mentions")])
def test_tasks_can_be_chosen(task, member):
    arguments = ("-m", "annotators", "serve", "slow", "--port", "0", "--delay", "0", "0")
    with started(*arguments, "--tasks", task) as url, ServerProxy(url) as proxy:
        assert set(proxy.Annotator.getAnnotation(TEXT)) == {member}


@pytest.mark.slow
def test_a_new_server_runs_as_written_and_passes_the_check(tmp_path, capsys):
    assert main(["new", str(tmp_path / "ours")]) == 0
    with started(str(tmp_path / "ours" / "server.py"), PORT="0") as url:
        assert main(["check", url]) == 0
    assert main(["new", str(tmp_path / "ours")]) == 2
    assert "server.py: is there already" in capsys.readouterr().err
    assert main(["check", url]) == 1  # it has ended: one step says so, and no other is tried
    assert capsys.readouterr().out.count("no connection to 127.0.0.1") == 1


@pytest.mark.slow
def test_own_articles_become_result_files_with_scores(tmp_path, capfd):
    gold, runs = tmp_path / "gold", tmp_path / "runs"
    gold.mkdir()
    for task in ("INT", "IPT"):
        shutil.copy(DEMO / f"gold_{task.lower()}.tsv", gold / f"{task}.tsv")
    articles = ("--articles", str(DEMO / "articles"), "--write-runs", str(runs))
    with started("-m", "annotators", "serve", "cooccurrence", "--port", "0") as url:
        assert main(["check", url, *articles, "--at-once", "4"]) == 0
    assert "32 of 32 articles answered as agreed" in capfd.readouterr().out
    assert {path.name for path in runs.iterdir()} == {"INT.tsv", "IPT.tsv"}
    card = evaluate_files("INT", gold / "INT.tsv", runs / "INT.tsv").to_dict()
    assert main(["score", str(runs), "--gold", str(gold), "--articles", "answered"]) == 0
    shown = capfd.readouterr().out
    assert f"{card['macro']['f_score']:.3f}" in shown
    assert shown.count("micro AUC") == 2
    (gold / "IPT.tsv").unlink()
    assert main(["score", str(runs), "--gold", str(gold)]) == 0
    shown, said = capfd.readouterr()
    assert shown.count("micro AUC") == 1
    assert f"{gold}: no IPT.tsv; IPT is not scored" in said


@pytest.mark.slow
def test_an_article_is_sent_as_the_hub_sends_it(tmp_path, capsys):
    """With U+FFFD for what XML forbids, and without a byte order mark."""
    (tmp_path / "a.txt").write_bytes("\ufeffMDM2\x0cbinds p53".encode())
    articles = ("--articles", str(tmp_path / "a.txt"), "--write-runs", str(tmp_path / "runs"))
    with started("-m", "annotators", "serve", "ner", "--port", "0") as url:
        assert main(["check", url, *articles]) == 0
    assert "1 of 1 articles answered as agreed" in capsys.readouterr().out
    assert (tmp_path / "runs" / "NER.tsv").read_text().startswith("a\t0-3\tMDM2\t")


@pytest.mark.slow
def test_a_trained_model_can_be_served(tmp_path, capsys):
    data = Path(str(files("annotators"))) / "data"
    gold, model = data / "act_training_gold.tsv", tmp_path / "model"
    texts = str(data / "act_training.tsv")
    command = ["train-act", "--gold", str(gold), "--articles", texts, "--out", str(model)]
    assert main(command) == 0
    assert "trained on 40 articles, 20 relevant" in capsys.readouterr().out
    trained, shipped = Model.load(model), Model.load(SHIPPED_MODEL)
    assert trained.names == shipped.names
    for part in ("idf", "weights", "counts", "intercept"):
        assert getattr(trained, part) == pytest.approx(getattr(shipped, part), abs=1e-4)
    arguments = ("-m", "annotators", "serve", "act", "--port", "0", "--model", str(model))
    with started(*arguments) as url, ServerProxy(url) as proxy:
        relevant, _ = proxy.Annotator.getAnnotation(TEXT)["interaction"]
    assert relevant


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["serve", "dictionary", "--uniprot-names", "no.tsv"], "no.tsv: cannot be read"),
        (["serve", "act", "--model", "no.npz"], "no.npz: cannot be read"),
        (["check", "127.0.0.1:8100"], "URL: '127.0.0.1:8100' is not a URL"),
        (["train-act", "--gold", "no", "--articles", "x", "--out", "m"], "no: cannot be read"),
        (["serve", "slow", "--delay", "5", "1"], "--delay: 5.0 1.0; expected 0 <= MIN <= MAX"),
        (["serve", "dictionary", "--port", "70000"], "--port: 70000; expected 0 to 65535"),
        (["serve", "dictionary", "--workers", "0"], "--workers: 0; expected 1 or more"),
        (["serve", "dictionary", "--tasks", "ACT"], "--tasks: dictionary does not answer ACT"),
        (["serve", "act", "--config", "x.yaml"], "--config: the server is act; expected llm"),
        (
            ["serve", "act", "--uniprot", "r"],
            "--uniprot: the server is act; expected dictionary or cooccurrence",
        ),
        (["serve", "dictionary", "--uniprot", "no"], "no: no names.sqlite; expected what"),
        (
            ["serve", "ner", "--organism", "10090"],
            "--organism: given without a release; expected --uni",
        ),
        (["serve", "llm", "--base-url", "http://h/v1"], "--model: is missing"),
        (["serve", "llm", "--model", "m"], "--base-url: '' is no URL"),
        (["serve", "llm", "--model", "m", "--config", "no.yaml"], "no.yaml: cannot be read"),
        (
            ["check", "http://h/", "--write-runs", "d"],
            "--articles: one of --articles and --write-runs is missing",
        ),
        (["check", "http://h/", "--at-once", "0"], "--at-once: 0; expected 1 or more"),
        (["check", "http://h/", "--timeout", "0"], "--timeout: 0; expected a finite number above"),
        (["check", "http://h/", "--timeout", "nan"], "--timeout: nan; expected a finite number"),
        (["check", "http://h/", "--timeout", "-1"], "--timeout: -1; expected a finite number"),
        (["score", "no", "--gold", "no"], "no: no result file; expected ACT.tsv or INT.tsv"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_port_in_use_is_one_line(capsys):
    with started("-m", "annotators", "serve", "dictionary", "--port", "0") as url:
        port = url.rstrip("/").rpartition(":")[2]
        assert main(["serve", "dictionary", "--port", port]) == 2
    assert f"127.0.0.1:{port}: cannot be listened on" in capsys.readouterr().err


def articles():
    found = sorted((DEMO / "articles").glob("*.txt"))
    return {path.stem: path.read_text(encoding="utf-8") for path in found}


def test_the_sample_gold_is_consistent():
    relevant = {line.split("\t")[0] for line in gold("act") if line.endswith("\t1")}
    in_pairs = {(row[0], name) for row in map(str.split, gold("ipt")) for name in row[1:]}
    assert {line.split("\t")[0] for line in gold("act")} == set(articles())
    assert {article for article, _ in in_pairs} == relevant
    assert {tuple(line.split("\t")) for line in gold("int")} == in_pairs


def gold(task):
    return (DEMO / f"gold_{task}.tsv").read_text(encoding="utf-8").splitlines()
