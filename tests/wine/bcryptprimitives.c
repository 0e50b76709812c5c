// Rust's standard library takes its random numbers from a DLL that Windows has since version 7, and Wine since version 9.
// `cargo xtask` compiles this and puts it into the prefix of such a Wine. It is only for tests, and never shipped.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID into, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE into, SIZE_T bytes)
{
    return SystemFunction036(into, (ULONG)bytes);
}
