"""Says whether numba keeps compiled code in the way that numba_cache's quick loading takes for granted."""

from functools import cache, reduce
from importlib import import_module
from inspect import unwrap
from typing import Any

_KNOWN = {
    "dispatcher.Dispatcher.enable_caching": "self: FunctionCache _cache py_func",
    "dispatcher.Dispatcher.compile": "self sig: ExitStack ForceLiteralArg RuntimeError _cache _cache_hits _cache_misses _can_compile _compiler"
    " _compiling_counter add_overload bind_fold_arguments compile dict enter_context entry_point errors ev fndesc get global_compiler_lock"
    " insert_user_function install_timer library load_overload normalize_signature objectmode overloads save_overload sigutils targetctx trigger_event tuple",
    "caching.Cache.load_overload": "self sig target_context: _guard_against_spurious_io_errors _load_overload refresh",
    "caching.Cache._load_overload": "self sig target_context: _cache_file _enabled _impl _index_key codegen load rebuild",
    "caching.Cache._save_overload": "self sig data: _cache_file _enabled _impl _index_key check_cachable codegen ensure_cache_path locator reduce save",
    "caching.CompileResultCacheImpl.reduce": "self cres: _reduce",
    "caching.CompileResultCacheImpl.rebuild": "self target_context payload: CompileResult _rebuild compiler",
    "caching.CompileResultCacheImpl.check_cachable": "self cres: NumbaWarning _lineno _locator _py_file any fndesc has_dynamic_globals library lifted qualname"
    " split warn_explicit warnings",
    "compiler.CompileResult._reduce": "self: _find_referenced_environments calltypes environment fndesc library lifted objectmode reload_init"
    " serialize_using_object_code signature str tuple type_annotation typemap",
    "compiler.CompileResult._rebuild": "cls target_context libdata fndesc env signature objectmode lifted typeann reload_init referenced_envs:"
    " codegen env_name get_executable set_env typing_context unserialize_library",
    "codegen.CPUCodegen.magic_tuple": "self: _get_host_cpu_name _llvm_module _tm_features triple",
    "serialize.dumps": "obj: BytesIO NumbaPickler dump getvalue io",
    "environment._rebuild_env": "modname consts env_name: Environment __dict__ _memo consts env_name import_module importlib lookup_environment",
    "environment.lookup_environment": "env_name: Environment _memo get",
    "environment.Environment.__reduce__": "self: _rebuild_env consts env_name get globals",
    "runtime.rtsys.initialize": "self ctx: NRT_STATS _init _library _nrt add_symbol c_helpers compile_nrt_functions config ll memsys_enable_stats nrtdynmod"
    " startswith",
}
"""Functions of numba.core (0.65 to 0.68) that quick loading calls, replaces or leaves out: their parameters, and all names of others that they use."""


@cache
def difference() -> str | None:
    """Name the first function that is not as known: gone, or with other parameters, or made of other things. None: all are as known."""
    return next((f"numba.core.{name}" for name, known in _KNOWN.items() if _found(name) != known), None)


def _found(name: str) -> str | None:
    module, *path = name.split(".")
    try:
        function: Any = reduce(getattr, path, import_module(f"numba.core.{module}"))
        code = unwrap(getattr(function, "__func__", function)).__code__
    except (ImportError, AttributeError):
        return None
    return f"{' '.join(code.co_varnames[: code.co_argcount])}: {' '.join(sorted(code.co_names))}"
