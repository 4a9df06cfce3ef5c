"""Finding the browser and its flags; nothing is started here."""

import pytest

from webxpu.host.browser import ADAPTER_FLAGS, ADAPTERS, BASE_FLAGS, NoBrowser, find_chrome, flags, launch_options

VULKAN = (
    "--headless --ignore-gpu-blocklist --use-angle=vulkan --disable-vulkan-surface "
    "--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan --enable-dawn-features=vulkan_enable_f16_on_nvidia"
)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """No CHROME, no CHROME_FLAGS, and an empty path: `program(name)` puts a program on it."""
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.delenv("CHROME_FLAGS", raising=False)
    monkeypatch.setattr("webxpu.host.browser.APPLICATIONS", ())
    monkeypatch.setenv("PATH", str(tmp_path))

    def program(name):
        path = tmp_path / name
        path.touch(0o755)
        return path

    return program


def test_the_program_that_CHROME_names_is_taken_before_any_other(environment, monkeypatch):
    environment("chromium")
    mine = environment("my-chrome")
    monkeypatch.setenv("CHROME", str(mine))
    assert find_chrome() == mine
    monkeypatch.setenv("CHROME", "my-chrome")
    assert find_chrome() == mine


@pytest.mark.parametrize("name", ["chromium", "google-chrome", "chromium-browser"])
def test_usual_names_are_found_on_the_path(environment, name):
    program = environment(name)
    assert find_chrome() == program


def test_a_machine_without_a_browser_is_told_what_to_install():
    with pytest.raises(
        NoBrowser, match=r"^no Chrome or Chromium was found \(looked for chromium, .*apt-get install chromium"
    ):
        find_chrome()


def test_a_CHROME_that_is_no_program_is_an_error_and_no_other_is_taken(environment, monkeypatch):
    environment("chromium")
    monkeypatch.setenv("CHROME", "/nowhere/chrome")
    with pytest.raises(NoBrowser, match=r"^CHROME names '/nowhere/chrome', which is no program on this machine$"):
        find_chrome()


def test_without_any_wish_the_flags_are_the_base_and_swiftshader():
    assert flags() == [*BASE_FLAGS, *ADAPTER_FLAGS["swiftshader"]]
    assert flags()[-2:] == ["--use-webgpu-adapter=swiftshader", "--enable-dawn-features=disable_workgroup_init"]


def test_default_adds_no_adapter_flag():
    assert flags("default") == list(BASE_FLAGS)


def test_vulkan_asks_for_the_vulkan_driver():
    assert "--use-angle=vulkan" in flags("vulkan")
    assert "--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan" in flags("vulkan")


def test_CHROME_FLAGS_alone_are_taken_as_they_are(monkeypatch):
    monkeypatch.setenv("CHROME_FLAGS", "--headless '--user-agent=a b' --use-angle=vulkan")
    assert flags() == ["--headless", "--user-agent=a b", "--use-angle=vulkan"]


def test_an_adapter_asked_for_wins_over_the_adapter_flags_among_them(monkeypatch):
    monkeypatch.setenv("CHROME_FLAGS", VULKAN)
    kept = ["--headless", "--enable-dawn-features=vulkan_enable_f16_on_nvidia"]
    dawn = "--enable-dawn-features=vulkan_enable_f16_on_nvidia,disable_workgroup_init"
    assert flags("swiftshader") == ["--headless", "--use-webgpu-adapter=swiftshader", dawn]
    assert flags("default") == kept
    assert sorted(flags("vulkan")) == sorted(VULKAN.split())
    monkeypatch.setenv("CHROME_FLAGS", "--headless --use-webgpu-adapter=swiftshader --enable-unsafe-swiftshader")
    assert flags("default") == ["--headless"]


def test_features_of_other_kinds_are_kept_and_all_end_up_in_one_flag(monkeypatch):
    monkeypatch.setenv("CHROME_FLAGS", "--enable-features=Vulkan,Mine --headless --enable-features=Yours,Mine")
    assert flags() == ["--headless", "--enable-features=Vulkan,Mine,Yours"]
    assert flags("swiftshader") == ["--headless", *ADAPTER_FLAGS["swiftshader"], "--enable-features=Mine,Yours"]
    assert flags("vulkan")[-1] == "--enable-features=Mine,Yours,Vulkan,VulkanFromANGLE,DefaultANGLEVulkan"


def test_an_unknown_adapter_is_an_error():
    with pytest.raises(
        ValueError, match=r"^adapter must be one of \('swiftshader', 'vulkan', 'default'\), got 'metal'$"
    ):
        flags("metal")
    assert set(ADAPTERS) == {"swiftshader", "vulkan", "default"}


def test_playwright_is_given_our_program_and_may_not_add_swiftshader(environment):
    chrome = environment("chromium")
    options = launch_options("default")
    assert options["executable_path"] == str(chrome)
    assert options["ignore_default_args"] == ["--enable-unsafe-swiftshader"]
    assert options["args"] == list(BASE_FLAGS)
