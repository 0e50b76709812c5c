// Presses Ctrl-C or Ctrl-Break for a program, because a test under Wine or on Windows has no keyboard:
//
//     press c|break WHEN[,WHEN]… PROGRAM ARGUMENT…
//
// The program shares a new console with this one, and inherits its streams. WHEN is a time in milliseconds, or @PATTERN: as soon as a file
// with that name exists, in which * matches anything. At each of them the keys are pressed. The exit code is that of the program;
// 250 if it could not be run, 251 if it had to be killed, 252 if the system has no such keys, 253 if the file did not appear.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

// The rest of the command line after this many words, as it was typed.
static wchar_t *behind(wchar_t *line, int words)
{
    int quoted = 0;
    for (; *line; line++) {
        if (*line == L'"')
            quoted = !quoted;
        if (*line == L' ' && !quoted) {
            while (line[1] == L' ')
                line++;
            if (--words == 0)
                return line + 1;
        }
    }
    return line;
}

// Waits up to a minute for a file. False if the program ended before, or none appeared.
static int file_came(HANDLE process, const char *pattern)
{
    for (int times = 0; times < 12000; times++) {
        WIN32_FIND_DATAA found;
        HANDLE search = FindFirstFileA(pattern, &found);
        if (search != INVALID_HANDLE_VALUE) {
            FindClose(search);
            return 1;
        }
        if (WaitForSingleObject(process, 5) == WAIT_OBJECT_0)
            return 0;
    }
    return 0;
}

static int end(HANDLE process, int code)
{
    TerminateProcess(process, code);
    WaitForSingleObject(process, INFINITE);
    return code;
}

int main(int count, char **words)
{
    if (count < 4)
        return 250;
    DWORD event = strcmp(words[1], "c") == 0 ? CTRL_C_EVENT : CTRL_BREAK_EVENT;
    HANDLE streams[3] = { GetStdHandle(STD_INPUT_HANDLE), GetStdHandle(STD_OUTPUT_HANDLE), GetStdHandle(STD_ERROR_HANDLE) };

    // A console of its own, so that only the program receives the keys.
    FreeConsole();
    if (!AllocConsole()) {
        fprintf(stderr, "press: no console: %lu\n", GetLastError());
        return 250;
    }
    // The parent may have ignored Ctrl-C, and that is inherited.
    SetConsoleCtrlHandler(NULL, FALSE);
    STARTUPINFOW start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
    start.hStdInput = streams[0];
    start.hStdOutput = streams[1];
    start.hStdError = streams[2];
    PROCESS_INFORMATION process;
    // Ctrl-C goes to all processes of a console, but leaders of a group ignore it; Ctrl-Break can be sent to a group.
    DWORD flags = event == CTRL_C_EVENT ? 0 : CREATE_NEW_PROCESS_GROUP;
    if (!CreateProcessW(NULL, behind(GetCommandLineW(), 3), NULL, NULL, TRUE, flags, NULL, NULL, &start, &process)) {
        fprintf(stderr, "press: cannot run it: %lu\n", GetLastError());
        return 250;
    }

    for (char *when = strtok(words[2], ","); when; when = strtok(NULL, ",")) {
        if (*when == '@' && !file_came(process.hProcess, when + 1)) {
            fprintf(stderr, "press: there is no file %s\n", when + 1);
            return end(process.hProcess, 253);
        }
        DWORD wait = *when == '@' ? 0 : strtoul(when, NULL, 10);
        if (WaitForSingleObject(process.hProcess, wait) == WAIT_OBJECT_0)
            break;
        // The program has been started; from now on only this process ignores the keys.
        SetConsoleCtrlHandler(NULL, TRUE);
        if (!GenerateConsoleCtrlEvent(event, event == CTRL_C_EVENT ? 0 : process.dwProcessId)) {
            fprintf(stderr, "press: the keys do not work: %lu\n", GetLastError());
            return end(process.hProcess, 252);
        }
    }
    if (WaitForSingleObject(process.hProcess, 60000) != WAIT_OBJECT_0)
        return end(process.hProcess, 251);
    DWORD code = 250;
    GetExitCodeProcess(process.hProcess, &code);
    return (int)code;
}
