"""The page that runs op cases, under the name that tests import."""

from webxpu.gpu.frames import SENTINEL as SENTINEL
from webxpu.host.gpu_page import GpuPage as GpuPage
