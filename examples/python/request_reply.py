"""A master asks a worker in another process, and prints the answer."""

import multiprocessing

from muster.communication import Proxy, SessionMessage

GROUP = "request-reply"


# region worker
def worker() -> None:
    with Proxy(GROUP, "worker", {"master": 1}) as proxy:
        for request in proxy.receive():
            if request.tag == "stop":
                break
            proxy.reply(request, tag="square", body=request.body**2)


# endregion


# region master
def master() -> None:
    with Proxy(GROUP, "master", {"worker": 1}) as proxy:
        [peer] = proxy.peers["worker"]
        for number in range(1, 4):
            request = SessionMessage("square", proxy.name, peer, body=number)
            [reply] = proxy.send(request, timeout=10_000)
            print(f"the square of {number} is {reply.body}")
        proxy.isend(SessionMessage("stop", proxy.name, peer))


# endregion


def main() -> None:
    process = multiprocessing.get_context("spawn").Process(target=worker)
    process.start()
    master()
    process.join()


if __name__ == "__main__":
    main()
