"""Spark itself, classic and Connect, with executors of its own: the rows are complete and the program's, whatever dies."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pandas as pd
import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: pip install -r python/tests/requirements-spark.txt")

import pyspark
from engines import FILES, Killer, Rows, descends, free, gone, listens, psis, same, slowly, stop
from explaining import trained
from pyspark.sql import SparkSession

import psishap.spark
from psishap import PsiError

CLUSTER = "local-cluster[2,1,1024]"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.broadcast.UDFCompressionThreshold": "100k",  # the function is broadcast, as with models of more than 1 MB
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.files.maxPartitionBytes": "256k",  # a task for each file
}


@contextlib.contextmanager
def classic(directory):
    """A session in this process, with executors beside it."""
    builder = SparkSession.builder.master(CLUSTER)
    for key, value in (SETTINGS | {"spark.local.dir": str(directory)}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@contextlib.contextmanager
def connect(directory):
    """A session of a Spark Connect server, which is a process of its own and has the executors."""
    at, start = free(), pathlib.Path(pyspark.__file__).parent / "sbin" / "start-connect-server.sh"
    own = {"spark.local.dir": directory, "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": at}
    flags = [f"--conf={key}={value}" for key, value in (SETTINGS | own).items()]
    environment = dict(os.environ, SPARK_LOG_DIR=str(directory), SPARK_PID_DIR=str(directory))
    with open(directory / "log", "wb") as log:
        server = subprocess.Popen(
            ["bash", str(start), "--wait", "--master", CLUSTER, *flags], stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        assert listens(at, server), (directory / "log").read_text()[-2000:]
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{at}").getOrCreate()
        yield session
        session.stop()
    finally:
        stop(server)


@pytest.fixture(scope="module", params=[classic, connect], ids=lambda p: p.__name__)
def spark(request, tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with request.param(tmp_path_factory.mktemp(request.param.__name__)) as session:
        yield session
        children = psis()
    assert gone(children) == []


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return Rows(tmp_path_factory.mktemp("rows"), seed=52)


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp(request.param), request.param, 6)


def executor(now, busy):
    """An executor that has a psi, and a worker with rows in hand."""
    executors = sorted(pid for pid, (_, command) in now.items() if "CoarseGrainedExecutorBackend" in command)
    below = {e: {pid for pid in now if descends(pid, e, now)} for e in executors}
    return next((e for e in executors if below[e] & busy and below[e] & psis(now).keys()), None)


def worker(now, busy):
    """A Python worker that has a psi, of such an executor."""
    of = executor(now, busy)
    return next((parent for parent in psis(now).values() if of is not None and descends(parent, of, now)), None)


@pytest.mark.parametrize("victim", [executor, worker])
def test_killed(spark, model, rows, tmp_path, victim):
    model, path = model
    marks = tmp_path / "marks"
    marks.mkdir()
    wait = slowly(0.5, marks)

    def on(batches):
        for batch in batches:
            wait()
            yield batch

    df = spark.read.parquet(str(rows.directory))
    slow = df.mapInArrow(on, df.schema)
    explained = psishap.spark.explain(slow, path, keep="id")
    batches = rows.count // 1000
    watch = Killer(marks, batches // 3, victim)
    watch.start()
    explained.write.parquet(str(tmp_path / "out"))
    happened = watch.check(batches)
    assert len(list((tmp_path / "out").glob("part-*"))) == FILES  # a task for each
    got = pd.read_parquet(tmp_path / "out")
    off = same(got, rows.explained(path), rows.seed)
    print(f"{happened}; {len(got)} lines, off by {off:.1e}")


def test_options(spark, model, rows):
    model, path = model
    of = {} if not model.classes else {"output": "top"}
    few = spark.read.parquet(str(rows.directory / "part-03.parquet")).drop("town")
    explained = psishap.spark.explain(few.withColumnRenamed("id", "my.`id"), model, keep=["my.`id"], unknown=["town"], **of)
    assert explained.count() == rows.count // FILES
    got = explained.toPandas().rename(columns={"my.`id": "id"})
    want = rows.explained(path, "--unknown=town", *(f"--{k}={v}" for k, v in of.items()))
    same(got, want[want["id"].isin(got["id"])], rows.seed)
    assert not got["town"].any()


def test_types(spark, model, rows, tmp_path):
    """Columns that Spark has in other types than files do."""
    model, _path = model
    few = spark.read.parquet(str(rows.directory / "part-05.parquet"))
    few.createOrReplaceTempView("few")
    cast = spark.sql(
        "select id, cast(size as float) size, cast(rooms as decimal(4, 1)) rooms, town, owned,"
        " cast(cast(sold as date) as timestamp_ntz) sold, cast(row as float) row from few"
    )
    cast.write.parquet(str(tmp_path / "cast"))
    got = psishap.spark.explain(cast, model).toPandas()
    want = model.explain(pd.read_parquet(tmp_path / "cast")).to_pandas()
    model.close()
    assert len(got) == len(want)
    for name in ("prediction", "size", "rooms__std", "sold"):
        assert sorted(got[name]) == pytest.approx(sorted(want[name]), rel=1e-6, abs=1e-6), name


def test_empty(spark, model, rows):
    model, _ = model
    none = spark.read.parquet(str(rows.directory)).where("id < 0")
    assert psishap.spark.explain(none, model, keep="id").toPandas().empty


def test_refuses_beforehand(spark, model, rows):
    model, path = model
    df = spark.read.parquet(str(rows.directory))
    for said, ask in (
        ("column 'town'.*unknown=\\['town'\\]", lambda: psishap.spark.explain(df.drop("town"), model)),
        ("column 'size': explanations have a column", lambda: psishap.spark.explain(df, path, keep=["id", "size"])),
        ("column 'Base'", lambda: psishap.spark.explain(df.withColumnRenamed("id", "Base"), model, keep="Base")),
        ("column 'key'", lambda: psishap.spark.explain(df, model, keep="key")),
    ):
        with pytest.raises(PsiError, match=said):
            ask()
    assert model._child.pid is None
