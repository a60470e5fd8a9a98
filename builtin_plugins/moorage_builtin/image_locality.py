"""ImageLocality: prefers nodes that have the pod's images already."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["ImageLocality"]

_MEGABYTE = 1024 * 1024
_LOWEST = 23 * _MEGABYTE
_HIGHEST_PER_IMAGE = 1000 * _MEGABYTE


class ImageLocality(moorage.Plugin):
    """Scores by the bytes of the pod's images that a node has, scaled by how widespread they are.

    A spread of 1 (every node has the image) counts it whole: this keeps all pods of an image from
    heaping up on the one node that has it. Images of volumes count both in the sum and in the
    highest sum (kube-scheduler 1.36 forgets them in the latter, K#138952).
    """

    score_depends = moorage.Depends(node=True, facts=("images", "nodes"))

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the images matter."""
        return tuple(_images(pod))

    @moorage.hookimpl
    def score_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Score 0 to 100 by the scaled bytes of images on each node; (n,) int64."""
        size = nodes.cluster_size
        images = list(_images(pod))
        present = np.zeros(len(nodes), dtype=np.int64)
        for image in images:
            positions, bytes_, count = nodes.image(_with_tag(image))
            if count:
                present[positions] += int(float(bytes_) * (float(count) / float(size)))
        highest = _HIGHEST_PER_IMAGE * len(images)
        if not present.any() or highest <= _LOWEST:
            return np.zeros(len(nodes), dtype=np.int64)
        present = present.clip(_LOWEST, highest)
        return 100 * (present - _LOWEST) // (highest - _LOWEST)


def _images(pod: moorage.Pod) -> Iterable[str]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield container.image
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield volume.image.reference


def _with_tag(image: str) -> str:
    """Name an image as nodes report it: without a tag or digest, its tag is latest."""
    if image.rfind(":") <= image.rfind("/"):
        return f"{image}:latest"
    return image
