#!/usr/bin/env python3
"""Opens the page in headless Chromium and fails if the network has not learned.

    examples/web/test.py [--screenshot FOLDER] [CHROMIUM]

The page runs twice: on the GPU that WebGPU offers (a software one will do), and on the CPU. Where the browser has no
WebGPU the first run is on the CPU too, and the line that is printed says so. Needs Python's own library only: the
browser is driven through a pipe.
"""
import argparse, base64, fcntl, functools, http.server, json, os, pathlib, select, subprocess, sys, tempfile
import threading, time

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
    "--hide-scrollbars", "--force-device-scale-factor=1",
    "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan", "--ignore-gpu-blocklist",
]
SECONDS = 150


class Server(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


class Browser:
    """Chromium, by the DevTools protocol: JSON messages that end with a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()

        def descriptors():
            # Chromium expects these two at 3 and 4. Neither copy may overwrite the other.
            a, b = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser))
            os.dup2(a, 3), os.dup2(b, 4)

        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.log = open(pathlib.Path(profile, "log"), "w+")
        output = {"stdout": self.log, "stderr": self.log}
        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=descriptors, **output)
        os.close(to_browser), os.close(from_browser)
        self.rest, self.count, self.session, self.messages = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1120, height=720, deviceScaleFactor=1, mobile=False)

    def receive(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.read, 1 << 20)
            if not part:
                self.log.seek(0)
                raise EOFError(f"Chromium ended: {self.log.read()[-3000:]}")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.write, text):]
        until = time.monotonic() + SECONDS
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.consoleAPICalled":
            words = [str(part.get("value", part.get("description"))) for part in parameters["args"]]
            self.messages.append(f"{parameters['type']}: {' '.join(words)}")
        elif event.get("method") == "Runtime.exceptionThrown":
            self.messages.append(str(parameters["exceptionDetails"].get("exception", {}).get("description")))
        elif event.get("method") == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.wait()


def run(browser, url, picture):
    """What the page reports."""
    browser.messages.clear()
    browser.call("Page.navigate", url=url)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        time.sleep(0.2)
        if browser.value("location.href") == url and (result := browser.value("window.result")):
            break
    else:
        result = {"error": f"no result after {SECONDS} seconds"}
    for scheme in ("light", "dark") if picture else ():
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(0.5)
        data = browser.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(f"{picture}-{scheme}.png").write_bytes(base64.b64decode(data))
    return result


def check(name, result):
    """Prints what ran. Returns whether the network has learned."""
    if "error" in result:
        print(f"web: {name}: {result['error']}")
        return False
    losses, accuracies = result["losses"], result["accuracies"]
    print(
        f"web: {name}: {result['backend']}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, "
        f"accuracy {accuracies[0]:.2f} -> {accuracies[-1]:.2f}, {result['milliseconds']:.1f} ms an epoch"
    )
    return losses[-1] < 0.1 and losses[-1] < losses[0] / 4 and accuracies[-1] >= 0.9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screenshot", type=pathlib.Path)
    parser.add_argument("chromium", nargs="?", default="chromium")
    arguments = parser.parse_args()
    handler = functools.partial(Server, directory=str(HERE))
    server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    passed = []
    for name, query in (("on a GPU", "?epochs=40"), ("on the CPU", "?backend=flex")):
        # A browser each: a GPU process that has failed once stays off.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(arguments.chromium, profile)
            try:
                url = f"http://localhost:{server.server_port}/index.html{query}"
                picture = arguments.screenshot and arguments.screenshot / ("cpu" if "flex" in query else "gpu")
                result = run(browser, url, picture)
                passed.append(check(name, result))
                if not passed[-1]:
                    print("\n".join(browser.messages[-20:]))
            finally:
                browser.close()
    if not all(passed):
        sys.exit("web: the network has not learned")


main()
