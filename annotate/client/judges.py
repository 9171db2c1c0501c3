"""What judges a set: a program of your own, or a model behind an address in the OpenAI chat layout."""

import json
import os
import queue
import shlex
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import PurePath
from typing import IO, Any, Protocol, cast
from urllib.parse import urlsplit

from annotate.client.replies import PROMPT, NoAnswer, Question, Reply, Unusable, read_json, read_reply
from annotate.client.transport import Stay

LONGEST_PAUSE = 300.0
MAX_REPLY = 1_000_000


class Judge(Protocol):
    program: str

    def ask(self, asked: Question) -> Reply:
        """Raise NoAnswer and Unusable."""

    def close(self) -> None: ...


def counted(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class ProgramJudge:
    """A program that reads a line of JSON for each set and writes one; it is started again where it ended."""

    def __init__(self, command: str, timeout: float) -> None:
        self.arguments = shlex.split(command)
        if not self.arguments:
            raise Unusable("The command is empty. Name a program.")
        self.program = PurePath(self.arguments[0]).name
        self.timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def ask(self, asked: Question) -> Reply:
        given, lines = self._started()
        try:
            given.write(json.dumps(asked.as_json(), ensure_ascii=False) + "\n")
            given.flush()
            line = lines.get(timeout=self.timeout)
        except queue.Empty:
            self.close()  # what it may still say is no answer to the next set
            raise NoAnswer(f"no line within {self.timeout:g} seconds") from None
        except OSError:
            line = None
        if line is None:
            self.close()
            raise NoAnswer("the program ended")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise NoAnswer("a line that is no JSON object", excerpt=line.strip())
        n_in, n_out = (counted(reply.get(name)) for name in ("tokens_in", "tokens_out"))
        return replace(read_json(reply, asked), tokens_in=n_in, tokens_out=n_out)

    def _started(self) -> "tuple[IO[str], queue.Queue[str | None]]":
        """Return where the program reads and what it has written, line by line."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            pipe = subprocess.PIPE
            try:
                process = subprocess.Popen(  # noqa: S603  (the program that the caller names)
                    self.arguments, stdin=pipe, stdout=pipe, text=True, encoding="utf-8"
                )
            except OSError as error:
                raise Unusable(f"“{self.program}” can't be started: {error.strerror}.") from None
            self._process, self._lines = process, queue.Queue()
            threading.Thread(target=pass_on, args=(process.stdout, self._lines), daemon=True).start()
        return cast(IO[str], self._process.stdin), self._lines

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                try:
                    if pipe:
                        pipe.close()
                except OSError:
                    pass
        self._process = None


def pass_on(pipe: IO[str], lines: "queue.Queue[str | None]") -> None:
    """Put each line into the queue, and None at the end."""
    try:
        for line in pipe:
            lines.put(line)
    except (ValueError, OSError):  # it was closed
        pass
    lines.put(None)


class EndpointJudge:
    """A model behind an address that ends with chat/completions. The key is read from the environment and kept
    nowhere else; no redirect is followed, so that it is sent nowhere else."""

    def __init__(
        self,
        url: str,
        model: str,
        prompt: str = PROMPT,
        *,
        key_variable: str = "",
        timeout: float = 60.0,
        more: dict[str, Any] | None = None,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise Unusable(f"“{url}” is no address. Write it as in https://api.example.org/v1/chat/completions.")
        if key_variable and not os.environ.get(key_variable):
            raise Unusable(f"The environment has no {key_variable}. Put the key of the endpoint there.")
        self.program, self.url, self.prompt, self.timeout = model, url, prompt, timeout
        self._key_variable, self._more = key_variable, more or {}
        self._opener = urllib.request.build_opener(Stay)

    def ask(self, asked: Question) -> Reply:
        messages = [{"role": "user", "content": asked.fill_in(self.prompt)}]
        body = json.dumps({"model": self.program, "messages": messages, **self._more}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_variable:
            headers["Authorization"] = f"Bearer {os.environ[self._key_variable]}"
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310  (the scheme was checked)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                reply = json.loads(response.read(MAX_REPLY))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (408, 409, 425, 429) or error.code >= 500:
                raise NoAnswer(f"status {error.code}", pause_in(error)) from None
            raise Unusable(
                f"The endpoint answered with status {error.code}. Check its address, the model and the key."
            ) from None
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise NoAnswer(type(error).__name__) from None
        try:
            text, usage = reply["choices"][0]["message"]["content"], reply.get("usage") or {}
        except (KeyError, IndexError, TypeError, AttributeError):
            raise NoAnswer("a reply in another layout") from None
        n_in, n_out = (counted(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        try:
            return replace(read_reply(text if isinstance(text, str) else "", asked), tokens_in=n_in, tokens_out=n_out)
        except NoAnswer as rubbish:
            raise Paid(rubbish.why, n_in, n_out, rubbish.excerpt) from None

    def close(self) -> None:
        pass


class Paid(NoAnswer):
    """Rubbish that cost tokens."""

    def __init__(self, why: str, tokens_in: int | None, tokens_out: int | None, excerpt: str = "") -> None:
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        super().__init__(why, excerpt=excerpt)


def pause_in(error: urllib.error.HTTPError) -> float:
    try:
        return min(max(float(error.headers.get("Retry-After") or 0), 0.0), LONGEST_PAUSE)
    except ValueError:
        return 0.0


def wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
