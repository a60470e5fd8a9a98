"""`moorage run` on a cluster: credentials found, kube-scheduler asked for, then as embedded."""

from __future__ import annotations

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.cli.lease_check import refuse_to_compete, shares_lease
from moorage.cli.scheduling import Job, schedule_for_ever, schedule_until_idle

__all__ = ["run_on_cluster"]


async def run_on_cluster(job: Job, *, context: str | None, master: str | None) -> None:
    """Schedule the pods of a cluster, for ever or until nothing more can happen.

    Raises KubeconfigError, UnreachableError, ApiError, ConfigurationError for what keeps it from
    starting: no usable credentials, no answer, no permission, kube-scheduler at work.
    """
    kubeconfig = job.configuration.client_connection.kubeconfig or None

    def connect() -> Connection:
        return Connection.find(kubeconfig=kubeconfig, context=context, master=master)

    if not shares_lease(job.configuration):
        async with ApiClient(connect()) as client:
            await refuse_to_compete(client, job.frameworks)
    if job.until_idle:
        await schedule_until_idle(job, connect, only_new=True)
    else:
        await schedule_for_ever(job, connect)
