/* What a listening socket takes the place of, and what it leaves alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/unix_socket.h"

static char folder[64], path[96];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/unix-socket-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/sock", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static bool lies_there(const char *what)
{
    struct stat status;
    return lstat(what, &status) == 0;
}

static bool answers(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    bool connected = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN;
    close(fd);
    return connected;
}

/* Before it is given nobody of the group gets in; what took its place is left alone. */
static void give__to_a_group(void **state)
{
    (void)state;
    struct unix_listener listener;
    struct stat status;
    struct err err;
    assert_true(unix_socket_listen(&listener, path, 0600, 4, &err));
    assert_true(unix_socket_give(&listener, getegid(), 0660, &err));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0660);
    assert_int_equal(status.st_gid, getegid());
    unlink(path);
    assert_false(unix_socket_give(&listener, getegid(), 0666, &err));
    assert_non_null(strstr(err.text, "No such file"));
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_false(unix_socket_give(&listener, getegid(), 0666, &err));
    assert_non_null(strstr(err.text, "another one lies there by now"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    unix_socket_unlisten(&listener);
}

static void listen__and_leave_nothing(void **state)
{
    (void)state;
    struct unix_listener listener;
    struct stat status;
    struct err err;
    assert_true(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_true(answers());
    unix_socket_unlisten(&listener);
    assert_false(lies_there(path));
    unix_socket_unlisten(&listener); /* once is enough */
}

/* A file, a link, a folder, a socket that somebody serves: all stay, and the error names the path. */
static void listen__refuses_what_is_not_dead(void **state)
{
    (void)state;
    struct unix_listener listener, other;
    struct err err;
    static const char content[] = "precious";
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
    close(fd);
    assert_false(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_non_null(strstr(err.text, "no socket"));
    assert_non_null(strstr(err.text, path));
    assert_true(lies_there(path));
    unlink(path);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_false(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_true(lies_there(path));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_int_equal(rmdir(path), 0);
    assert_true(unix_socket_listen(&other, path, 0660, 4, &err));
    assert_false(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_non_null(strstr(err.text, "another appliance"));
    assert_int_equal(listener.fd, -1);
    assert_true(answers());
    unix_socket_unlisten(&other);
}

static void listen__a_dead_socket_gives_way(void **state)
{
    (void)state;
    struct unix_listener dead, listener;
    struct err err;
    assert_true(unix_socket_listen(&dead, path, 0660, 4, &err));
    close(dead.fd); /* as after kill -9 */
    assert_true(lies_there(path));
    assert_true(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_true(answers());
    unix_socket_unlisten(&listener);
}

static void unlisten__leaves_a_successor(void **state)
{
    (void)state;
    struct unix_listener first, successor;
    struct err err;
    assert_true(unix_socket_listen(&first, path, 0660, 4, &err));
    unlink(path); /* by whoever cleans up */
    assert_true(unix_socket_listen(&successor, path, 0660, 4, &err));
    unix_socket_unlisten(&first);
    assert_true(answers());
    unix_socket_unlisten(&successor);
    assert_false(lies_there(path));
}

/* Of many that start at once beside a dead socket one gets it, and keeps it. */
static void listen__one_of_many(void **state)
{
    (void)state;
    enum { STARTERS = 16 };
    struct unix_listener dead;
    struct err err;
    int go[2], done[2], keep[2], won = 0;
    assert_true(unix_socket_listen(&dead, path, 0660, 4, &err));
    close(dead.fd);
    assert_int_equal(pipe(go) | pipe(done) | pipe(keep), 0);
    for (int starter = 0; starter < STARTERS; starter++)
        if (fork() == 0) {
            struct unix_listener listener;
            char byte;
            close(go[1]);
            close(keep[1]);
            bool listens = read(go[0], &byte, 1) == 0 && unix_socket_listen(&listener, path, 0660, 4, &err);
            byte = listens ? '1' : '0';
            /* who got it holds it until all have tried */
            _exit(write(done[1], &byte, 1) == 1 && read(keep[0], &byte, 1) == 0 ? 0 : 1);
        }
    close(go[1]);
    for (int starter = 0; starter < STARTERS; starter++) {
        char byte;
        assert_int_equal(read(done[0], &byte, 1), 1);
        won += byte == '1';
    }
    assert_int_equal(won, 1);
    assert_true(answers());
    close(keep[1]);
    while (wait(NULL) > 0)
        continue;
}

static void listen__path_too_long(void **state)
{
    (void)state;
    struct unix_listener listener;
    struct err err;
    char too_long[200];
    memset(too_long, 'x', sizeof(too_long) - 1);
    too_long[sizeof(too_long) - 1] = '\0';
    assert_false(unix_socket_listen(&listener, too_long, 0660, 4, &err));
    assert_non_null(strstr(err.text, "107 characters"));
}

/* Anybody who may read the folder can lock it: nobody waits for that without end. */
static void listen__does_not_wait_for_a_lock_of_others(void **state)
{
    (void)state;
    struct unix_listener listener;
    struct err err;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_int_equal(flock(fd, LOCK_EX), 0);
    unix_socket_unlisten(&listener);
    assert_false(unix_socket_listen(&listener, path, 0660, 4, &err));
    assert_non_null(strstr(err.text, "keeps its folder locked"));
    close(fd);
    assert_true(unix_socket_listen(&listener, path, 0660, 4, &err)); /* what was left gives way */
    unix_socket_unlisten(&listener);
    assert_false(lies_there(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(give__to_a_group, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(listen__and_leave_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(listen__refuses_what_is_not_dead, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(listen__a_dead_socket_gives_way, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(unlisten__leaves_a_successor, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(listen__one_of_many, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(listen__does_not_wait_for_a_lock_of_others, make_folder,
                                        remove_folder),
        cmocka_unit_test(listen__path_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
