// Inter-op parallelism: one pool of threads per process that runs tasks such as a script's fork().
//
// No more than get_num_interop_threads() threads run tasks at once, whoever they are. A thread that waits
// runs queued tasks meanwhile. Outside a task that is the oldest one, while there is a place for it. Inside a
// task it is the newest one launched below that task, and no other: an unrelated task on top of its stack
// could wait for the very task it buries. So helping nests as deep as the program's own forks do, and only
// while half of the thread's stack is free; a thread that may not help sleeps. Whenever tasks are queued and
// every pool thread sleeps so, the pool starts a spare thread, which ends when it has nothing to do. Waiting
// therefore never deadlocks by itself. Who waits holds no lock that a task may want.
//
// A child of fork() has a pool of its own. At exit queued tasks are dropped and running ones awaited, but
// those inside an interpreter that has ended (InterpreterScope).
#pragma once

#include <functional>

namespace weft::runtime {

// Queues a task for the pool, which starts up to get_num_interop_threads() threads as they are needed. A task
// delivers its errors by itself: an exception that leaves it is logged and dropped. RuntimeError where no
// thread can be started.
void interop_launch(std::function<void()> task);
// Runs one queued task that the calling thread may run, see above; false if there is none.
bool interop_help();
// Returns when done() holds, and runs tasks or sleeps until then. done() is called on this thread, at any
// time and without locks; what it reads is set before a call of interop_notify().
void interop_wait(const std::function<bool()>& done);
void interop_notify();
// Sleeps until the process is gone. Nobody waits for a task that the thread was running.
[[noreturn]] void sleep_until_exit();
// Whether the calling thread runs an interpreter's code, or waits for its lock, as long as one lives. May be
// nested, each way. An interpreter that has ended keeps such a thread for ever (CPython from 3.14 on): nobody
// waits for its task.
class InterpreterScope {
 public:
  explicit InterpreterScope(bool is_inside);
  ~InterpreterScope();
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

 private:
  bool was_inside_;
};
// What asks whether the interpreter of those scopes has ended; asked at exit, in any thread.
void set_interpreter_has_ended(bool (*has_ended)());
// Threads of the pool that exist now.
int interop_threads_alive();

}  // namespace weft::runtime
