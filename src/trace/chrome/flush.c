/* Writes out what the Chrome writer has buffered. */
#include "trace/chrome/chrome.h"

#include "base/error.h"

#define FLUSH_BYTES (256 * 1024)

int pyro_chrome_flush(pyro_chrome *chrome, bool all)
{
    int status;

    if (chrome->buf.failed)
        return pyro_fail_memory(chrome->error);
    if (!all && chrome->buf.length < FLUSH_BYTES)
        return PYRO_OK;
    status = chrome->write(chrome->user, chrome->buf.data, chrome->buf.length, chrome->error);
    pyro_buf_reset(&chrome->buf);
    return status;
}
