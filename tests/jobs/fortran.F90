! SPDX-License-Identifier: BSD-3-Clause
! The collectives from Fortran, with the datatypes and ops that Fortran programs use. One source for the three
! interfaces: compiled with -DMPIF_H (include 'mpif.h'), -DUSE_MPI and -DUSE_MPI_F08.
! Closes trap 30 (with the script: the report comes), and Fortran's part of 12, 15, 16.
module checks
  implicit none
  integer :: failures = 0
  integer :: world_rank = 0
contains
  subroutine check(right, what, index)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer, intent(in) :: index
    if (.not. right) then
      failures = failures + 1
      if (failures <= 10) write (0, '(a,i0,3a,i0)') 'FAIL rank ', world_rank, ': ', what, ': wrong at index ', index
    end if
  end subroutine check
end module checks

program fortran
  use checks
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer, parameter :: n = 700
  integer :: rank, nranks, ierror, i, k, first, total
  integer :: calls(3)
  integer, allocatable :: counts(:)
  integer :: ints(n), int_sums(n), pairs(2, n), pair_results(2, n)
  integer(kind=8) :: longs(n), long_sums(n)
  integer(kind=2) :: shorts(n), short_max(n)
  logical :: flags(n), flag_results(n)
  real :: reals(n), real_sums(n)
  double precision :: doubles(n), double_sums(n), located(2, n), located_results(2, n)
  double complex :: complexes(n), complex_sums(n)
  double precision, allocatable :: whole(:), part(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierror)
  world_rank = rank
  calls = 0
  total = nranks * (nranks + 1) / 2
  allocate (counts(nranks))

  do i = 1, n
    ints(i) = (rank + 1) * i
    longs(i) = int(rank + 1, 8) * int(i, 8) * 1000000007_8
    shorts(i) = int(mod(i * (rank + 3), 211), 2)
    reals(i) = real(rank + 1) * 0.5 * real(mod(i, 100))
    doubles(i) = dble(rank + 1) * 0.25d0 * dble(i)
    complexes(i) = cmplx(dble(rank + 1) * i, -dble(rank + 1) * 2 * i, kind(1d0))
    flags(i) = mod(i, 3) == 0 .and. mod(i, nranks) == rank
    pairs(1, i) = mod(i * 7 + rank * 5, 4)
    pairs(2, i) = 100 - rank
    located(1, i) = dble(mod(i * 3 + rank * 5, 4)) - 1.5d0
    located(2, i) = dble(rank)
  end do

  call MPI_Allreduce(ints, int_sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(longs, long_sums, n, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(shorts, short_max, n, MPI_INTEGER2, MPI_MAX, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(reals, real_sums, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(doubles, double_sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(complexes, complex_sums, n, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
  calls(1) = calls(1) + 6
  do i = 1, n
    call check(int_sums(i) == total * i, 'INTEGER SUM', i)
    call check(long_sums(i) == int(total, 8) * int(i, 8) * 1000000007_8, 'INTEGER8 SUM', i)
    call check(short_max(i) == maxval([(mod(i * (k + 3), 211), k=0, nranks - 1)]), 'INTEGER2 MAX', i)
    call check(real_sums(i) == real(total) * 0.5 * real(mod(i, 100)), 'REAL SUM', i)
    call check(double_sums(i) == dble(total) * 0.25d0 * dble(i), 'DOUBLE PRECISION SUM', i)
    call check(complex_sums(i) == cmplx(dble(total) * i, -dble(total) * 2 * i, kind(1d0)), 'DOUBLE COMPLEX SUM', i)
  end do

  call MPI_Allreduce(flags, flag_results, n, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  do i = 1, n
    call check(flag_results(i) .eqv. mod(i, 3) == 0, 'LOGICAL LOR', i)
  end do
  flags = .not. flags
  call MPI_Allreduce(flags, flag_results, n, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  do i = 1, n
    call check(flag_results(i) .eqv. mod(i, 3) /= 0, 'LOGICAL LAND', i)
  end do
  call MPI_Allreduce(located, located_results, n, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(pairs, pair_results, n, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierror)
  calls(1) = calls(1) + 4
  do i = 1, n
    ! ties take the lowest index: the lowest rank for `located`, the highest for `pairs`
    k = maxloc([(mod(i * 3 + k * 5, 4), k=0, nranks - 1)], dim=1) - 1
    call check(located_results(1, i) == dble(mod(i * 3 + k * 5, 4)) - 1.5d0 .and. located_results(2, i) == dble(k), &
               '2DOUBLE_PRECISION MAXLOC', i)
    k = minloc([(mod(i * 7 + k * 5, 4), k=0, nranks - 1)], dim=1, back=.true.) - 1
    call check(pair_results(1, i) == mod(i * 7 + k * 5, 4) .and. pair_results(2, i) == 100 - k, '2INTEGER MINLOC', i)
  end do

  call MPI_Allreduce(MPI_IN_PLACE, doubles, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, ints, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  calls(1) = calls(1) + 2
  call check(ints(1) == nranks, 'INTEGER MAX in place', 1)
  do i = 1, n
    call check(doubles(i) == dble(total) * 0.25d0 * dble(i), 'DOUBLE PRECISION SUM in place', i)
  end do

  ! blocks that grow with the rank, the first one empty
  counts = [(13 * k, k=0, nranks - 1)]
  allocate (whole(max(1, sum(counts)) + 5 * nranks), part(13 * nranks))
  first = sum(counts(1:rank))
  whole = [(dble(rank + 1) * dble(k), k=1, size(whole))]
  part = -1
  call MPI_Reduce_scatter(whole, part, counts, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  do i = 1, counts(rank + 1)
    call check(part(i) == dble(total) * dble(first + i), 'reduce_scatter', i)
  end do
  call check(all(part(counts(rank + 1) + 1:) == -1), 'reduce_scatter wrote behind the block', counts(rank + 1))
  call MPI_Reduce_scatter_block(whole, part, 5, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  do i = 1, 5
    call check(part(i) == dble(total) * dble(5 * rank + i), 'reduce_scatter_block', i)
  end do
  call MPI_Reduce_scatter_block(MPI_IN_PLACE, whole, 5, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  do i = 1, 5
    call check(whole(i) == dble(total) * dble(5 * rank + i), 'reduce_scatter_block in place', i)
  end do
  whole = [(dble(rank + 1) * dble(k), k=1, size(whole))]
  call MPI_Reduce_scatter(MPI_IN_PLACE, whole, counts, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  do i = 1, counts(rank + 1)
    call check(whole(i) == dble(total) * dble(first + i), 'reduce_scatter in place', i)
  end do
  calls(2) = 2
  calls(3) = 2

  if (rank == 0) then
    write (*, '(3(a,i0))') 'job-calls allreduce=', calls(1), ' reduce_scatter=', calls(2), &
      ' reduce_scatter_block=', calls(3)
    if (nranks == 1) calls = 0
    write (*, '(3(a,i0))') 'job-engine allreduce=', calls(1), ' reduce_scatter=', calls(2), &
      ' reduce_scatter_block=', calls(3)
  end if
  call MPI_Finalize(ierror)
  if (failures > 0) stop 1
end program fortran
