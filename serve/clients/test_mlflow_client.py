"""MLflow's own scoring client, which asks a server of one model. It is large: .ci/serve installs it with PSI_SLOW=1 alone."""

import json
import subprocess

import pytest
from mlflow.pyfunc.scoring_server.client import ScoringServerClient

import scene
from test_mlflow import check, frame


@pytest.fixture(params=scene.MODELS)
def served(request):
    command = [scene.here / "psi", "serve", scene.here / "models" / f"{request.param}.psi", "--json", "--http", "127.0.0.1:0", "--grpc", "", "--metrics", ""]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    host, port = json.loads(server.stdout.readline())["http"].split(":")
    yield request.param, ScoringServerClient(host, int(port))
    server.terminate()
    assert server.wait(30) == 0


def test_client(served):
    model, client = served
    client.wait_server_ready(timeout=10)
    client.ping()
    assert scene.psi("--version") == f"psi {client.get_version()}\n"
    rows = frame(model)
    answer = client.invoke(rows)
    check(model, answer)
    assert answer.get_predictions().iloc[:, 0].tolist() == answer["predictions"]
    hidden = rows.columns[0]
    blank = client.invoke(rows.assign(**{hidden: None}))
    assert client.invoke(rows.drop(columns=[hidden]), params={"unknown": [hidden]}) == blank
    with pytest.raises(Exception, match="error code 400"):
        client.invoke(rows.drop(columns=[hidden]))
